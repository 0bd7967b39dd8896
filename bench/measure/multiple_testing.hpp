// SPDX-License-Identifier: Apache-2.0
// Many tests at once, of which some look significant by chance: the two adjustments of p-values.
// Holm's keeps the chance of even one false difference, Benjamini and Hochberg's the expected share
// of false ones among those called different. Sources: Scand. J. Statist. 6 (1979) 65-70; J. R.
// Statist. Soc. B 57 (1995) 289-300.
#pragma once

#include <span>
#include <vector>

namespace scalebench {

/// Holm's step-down adjustment; NaN (not tested) stays NaN and does not count.
std::vector<double> holm(std::span<const double> p_values);

inline constexpr double kFalseDiscoveryRate = 0.05;

/// The step-up adjustment: those up to q are discoveries at rate q. NaN (not tested) stays NaN and
/// does not count.
std::vector<double> benjamini_hochberg(std::span<const double> p_values);

/// For each test the largest p that it could have and be a discovery at that rate, the others being
/// as they are. What the smallest effect that would be found follows from.
std::vector<double> discovery_limits(std::span<const double> p_values);

}  // namespace scalebench
