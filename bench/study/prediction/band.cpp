// SPDX-License-Identifier: Apache-2.0
#include "bench/study/prediction/band.hpp"

#include <cmath>
#include <numeric>

#include "bench/measure/statistics.hpp"
#include "kernels/error.hpp"

namespace scalebench {
void ErrorsLeftOut::add(const ErrorsLeftOut& others) {
  errors.insert(errors.end(), others.errors.begin(), others.errors.end());
  degrees += others.degrees;
}

double ErrorsLeftOut::reach() const {
  if (degrees == 0) return std::nan("");
  const double squares = std::inner_product(errors.begin(), errors.end(), errors.begin(), 0.0);
  return student_t_quantile(0.025, static_cast<double>(degrees)) *
         std::sqrt(squares / static_cast<double>(errors.size()));
}

ErrorsLeftOut left_out(const PredictionCase& of) {
  ErrorsLeftOut found;
  if (of.legs.size() < 2) return found;
  for (const EpochLeg& leg : of.legs) {
    try {
      const Predictor others(without(of, leg.at.ranks));
      // Whatever could not be calibrated says nothing of how good calibrated predictions are.
      if (others.calibration().ranks.empty()) continue;
      const double measured = leg.middle().seconds / leg.steps();
      found.errors.push_back(std::log(others.forecast({leg.at}).step_seconds / measured));
    } catch (const Unavailable&) {
      continue;  // the check's row of that N says why
    }
  }
  found.degrees = found.errors.empty() ? 0 : found.errors.size() - 1;
  return found;
}

}  // namespace scalebench
