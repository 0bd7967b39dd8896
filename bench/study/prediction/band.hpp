// SPDX-License-Identifier: Apache-2.0
// How far a prediction may be off: each measured N is predicted without anything measured on it,
// and what is wrong then is the band. These errors hold the noise of the measurement and the
// model's.
#pragma once

#include <cstddef>
#include <vector>

#include "bench/study/prediction/prediction.hpp"

namespace scalebench {

/// ln(predicted / measured) of the steps of each N, predicted from one rank and the other N.
struct ErrorsLeftOut {
  std::vector<double> errors{};
  std::size_t degrees = 0;  // of freedom: one less than errors in each case they are from

  /// 95 % of further errors lie that far from 0, by Student's t: each was predicted from the others
  /// of its case, which costs a degree of freedom. NaN without any.
  double reach() const;
  /// Those of another case: in one run the model's relative errors are taken to be of one size.
  void add(const ErrorsLeftOut& others);
};

/// Of every N of the case that can be predicted from the others; none where there is one N.
ErrorsLeftOut left_out(const PredictionCase& of);

}  // namespace scalebench
