// SPDX-License-Identifier: Apache-2.0
// Many tests at once, of which some look significant by chance: Holm's adjustment of p-values keeps
// the chance of even one false difference. Source: Scand. J. Statist. 6 (1979) 65-70.
#pragma once

#include <span>
#include <vector>

namespace scalebench {

/// Holm's step-down adjustment; NaN (not tested) stays NaN and does not count.
std::vector<double> holm(std::span<const double> p_values);

}  // namespace scalebench
