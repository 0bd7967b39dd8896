// SPDX-License-Identifier: Apache-2.0
#include "bench/study/prediction/band.hpp"

#include <algorithm>
#include <numeric>

#include "bench/measure/statistics.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

/// Student's t that 95 % stay below in size.
double t_of(std::size_t degrees) { return student_t_quantile(0.025, static_cast<double>(degrees)); }

}  // namespace

void ErrorsLeftOut::add(const ErrorsLeftOut& others) {
  errors.insert(errors.end(), others.errors.begin(), others.errors.end());
  degrees += others.degrees;
}

double ErrorsLeftOut::reach() const {
  if (!is_enough()) return std::nan("");
  const double squares = std::inner_product(errors.begin(), errors.end(), errors.begin(), 0.0);
  return t_of(degrees) * std::sqrt(squares / static_cast<double>(errors.size()));
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
      found.errors.push_back(std::log(others.forecast(question_of(leg)).step_seconds / measured));
    } catch (const Unavailable&) {
      continue;  // the check's row of that N says why
    }
  }
  found.degrees = found.errors.empty() ? 0 : found.errors.size() - 1;
  return found;
}

Band widened(const Band& draws, double seconds, const ErrorsLeftOut& errors, std::size_t launches) {
  if (!errors.is_enough()) {
    if (launches < 2) return {};
    constexpr double kNormal = 1.959964;  // that 95 % stay below in size
    const auto n = static_cast<double>(launches);
    const double wider = t_of(launches - 1) / kNormal * std::sqrt(n / (n - 1));
    // As far on both sides: of few launches one end of the draws is often the middle itself.
    const double reach = wider * std::log(draws.high / draws.low) / 2;
    return {std::fmin(draws.low, seconds * std::exp(-reach)),
            std::fmax(draws.high, seconds * std::exp(reach))};
  }
  const double reach = errors.reach();
  // fmin, fmax: without draws the errors alone.
  return {std::fmin(draws.low, seconds * std::exp(-reach)),
          std::fmax(draws.high, seconds * std::exp(reach))};
}

std::string basis_of(const ErrorsLeftOut& errors) {
  return errors.is_enough() ? "left_out" : "measurement";
}

}  // namespace scalebench
