// SPDX-License-Identifier: Apache-2.0
// Least squares with coefficients that cannot be negative, for the few unknowns of a cost model.
// Exact: the minimum is the unconstrained solution on some subset of the columns, so all subsets
// are tried. Cost: 2^columns solutions by Gram-Schmidt.
#pragma once

#include <span>
#include <vector>

namespace scalebench {

using Columns = std::vector<std::vector<double>>;

/// The x >= 0 that minimises |sum of x[i] * columns[i] - target|. Columns have the target's length;
/// there are at most 8. A column that the others already explain gets 0.
std::vector<double> nonnegative_least_squares(const Columns& columns,
                                              std::span<const double> target);

/// Whether one column is a multiple of the other, to one part in a million; also when one is zero.
bool collinear(std::span<const double> a, std::span<const double> b);

}  // namespace scalebench
