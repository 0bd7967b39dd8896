// SPDX-License-Identifier: Apache-2.0
// Two sides of one question: how much larger are b's values than a's, and could that be chance? No
// distribution is assumed. Values of one round belong together (Wilcoxon's signed ranks); else all
// of one side stand against all of the other (his rank sum). Estimate, intervals and p are of the
// same numbers, so that they agree: the means of two log ratios (Walsh), or the differences of two
// logs (Moses). Exact up to 50 rounds and 30 values a side, ties or not; beyond, normal. Source:
// Hollander, Wolfe, Chicken, Nonparametric Statistical Methods, chapters 3 and 4.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace scalebench {

struct Interval {
  double low = 0;
  double high = 0;
};

/// Of b over a. Unknown is NaN.
struct TwoSides {
  double ratio =
      0;  // Hodges and Lehmann: nearly as good as the mean, not moved by a few wild values
  Interval within_95{};  // NaN where so few values have no such interval
  Interval within_90{};
  double p_value = 0;  // two-sided, of "both are alike"
};

/// As many of b as of a, all positive; those at one place are of one round, and what a round does
/// to both cancels. 95 % from 6 rounds on. NaN throughout without any.
TwoSides compared_in_rounds(std::span<const double> a, std::span<const double> b);

/// All values are positive and taken as independent. 95 % from 4 a side on. NaN throughout when
/// either is empty.
TwoSides compared_apart(std::span<const double> a, std::span<const double> b);

/// The smallest p-value that `n` rounds can have: when all differ in the same direction.
double smallest_p_in_rounds(std::size_t n);
/// The same of `n` values against `m`: when all of one side lie above.
double smallest_p_apart(std::size_t n, std::size_t m);

/// Of many tests some look significant by chance: Holm's step-down adjustment keeps the chance of
/// even one false difference. NaN (not tested) stays NaN and does not count. Source: Scand. J.
/// Statist. 6 (1979) 65-70.
std::vector<double> holm(std::span<const double> p_values);

}  // namespace scalebench
