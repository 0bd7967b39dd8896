// SPDX-License-Identifier: Apache-2.0
// How far a prediction may be off: each measured N is predicted without anything measured on it,
// and what is wrong then widens the band. The draws of launches and steps hold the noise of the
// measurement alone; these errors hold it and the model's.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "bench/study/prediction/prediction.hpp"

namespace scalebench {

struct Band {
  double low = std::nan("");
  double high = std::nan("");
};

/// ln(predicted / measured) of the steps of each N, predicted from one rank and the other N.
struct ErrorsLeftOut {
  std::vector<double> errors{};
  std::size_t degrees = 0;  // of freedom: one less than errors in each case they are from

  /// 95 % of further errors lie that far from 0, by Student's t: each was predicted from the others
  /// of its case, which costs a degree of freedom. NaN without any.
  double reach() const;
  bool is_enough() const { return degrees > 0; }
  /// Those of another case: in one run the model's relative errors are taken to be of one size.
  void add(const ErrorsLeftOut& others);
};

/// Of every N of the case that can be predicted from the others; none where there is one N.
ErrorsLeftOut left_out(const PredictionCase& of);

/// `draws`, the noise of the measurement, as wide as the errors say around the prediction of
/// `seconds`. With too few errors what draws of `launches` are too narrow by is made good:
/// Student's t over the normal, times sqrt(n / (n - 1)) (Efron and Tibshirani 1993, 12.2); none of
/// one launch.
Band widened(const Band& draws, double seconds, const ErrorsLeftOut& errors, std::size_t launches);

/// What the band is of, in one word for a cell: "measurement" or "left_out".
std::string basis_of(const ErrorsLeftOut& errors);

}  // namespace scalebench
