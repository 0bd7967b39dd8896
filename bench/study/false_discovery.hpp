// SPDX-License-Identifier: Apache-2.0
// Many tests at once: Benjamini and Hochberg's step-up procedure, which keeps the expected share of
// false ones among those called different at q. Source: J. R. Statist. Soc. B 57 (1995) 289-300.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace scalebench {

inline constexpr double kFalseDiscoveryRate = 0.05;

/// The adjusted p-values: those up to q are discoveries at rate q. NaN (not tested) stays NaN and
/// does not count.
std::vector<double> benjamini_hochberg(std::span<const double> p_values);

/// For each test the largest p that it could have and be a discovery at rate `q`, the others being
/// as they are. What the smallest effect that would be found follows from.
std::vector<double> discovery_limits(std::span<const double> p_values,
                                     double q = kFalseDiscoveryRate);

}  // namespace scalebench
