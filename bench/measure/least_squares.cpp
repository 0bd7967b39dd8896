// SPDX-License-Identifier: Apache-2.0
#include "bench/measure/least_squares.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "kernels/error.hpp"

namespace scalebench {
namespace {

/// What of a column may be left beside the others before it counts as explained by them.
constexpr double kDependent = 1e-6;

double dot(std::span<const double> a, std::span<const double> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

void subtract(std::vector<double>& from, double factor, std::span<const double> what) {
  for (std::size_t i = 0; i < from.size(); ++i) from[i] -= factor * what[i];
}

/// Unconstrained least squares; nothing when a column depends on those before it.
std::optional<std::vector<double>> least_squares(const Columns& columns,
                                                 std::span<const double> target) {
  const std::size_t n = columns.size();
  Columns basis;
  Columns upper(n, std::vector<double>(n));
  for (std::size_t j = 0; j < n; ++j) {
    std::vector<double> rest = columns[j];
    const double length = std::sqrt(dot(rest, rest));
    // Twice: the second pass takes out what rounding left of the first.
    for (int pass = 0; pass < 2; ++pass) {
      for (std::size_t i = 0; i < j; ++i) {
        const double share = dot(basis[i], rest);
        upper[i][j] += share;
        subtract(rest, share, basis[i]);
      }
    }
    upper[j][j] = std::sqrt(dot(rest, rest));
    if (!(upper[j][j] > kDependent * length)) return std::nullopt;
    for (double& value : rest) value /= upper[j][j];
    basis.push_back(std::move(rest));
  }
  std::vector<double> x(n);
  for (std::size_t i = n; i-- > 0;) {
    x[i] = dot(basis[i], target);
    for (std::size_t j = i + 1; j < n; ++j) x[i] -= upper[i][j] * x[j];
    x[i] /= upper[i][i];
  }
  return x;
}

double squared_residual(const Columns& columns, const std::vector<double>& x,
                        std::span<const double> target) {
  std::vector<double> rest(target.begin(), target.end());
  for (std::size_t i = 0; i < columns.size(); ++i) subtract(rest, x[i], columns[i]);
  return dot(rest, rest);
}

}  // namespace

std::vector<double> nonnegative_least_squares(const Columns& columns,
                                              std::span<const double> target) {
  if (columns.size() > 8) fail("least squares with {} unknowns: at most 8", columns.size());
  std::vector<double> best(columns.size());
  double least = dot(target, target);
  for (unsigned subset = 1; subset < 1U << columns.size(); ++subset) {
    Columns chosen;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if ((subset >> i & 1U) != 0) chosen.push_back(columns[i]);
    }
    const auto x = least_squares(chosen, target);
    if (!x || std::ranges::any_of(*x, [](double value) { return value < 0; })) continue;
    const double residual = squared_residual(chosen, *x, target);
    if (!(residual < least)) continue;
    least = residual;
    std::size_t next = 0;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      best[i] = (subset >> i & 1U) != 0 ? (*x)[next++] : 0.0;
    }
  }
  return best;
}

bool collinear(std::span<const double> a, std::span<const double> b) {
  const double aa = dot(a, a);
  if (!(aa > 0) || !(dot(b, b) > 0)) return true;
  std::vector<double> rest(b.begin(), b.end());
  subtract(rest, dot(a, b) / aa, a);
  return dot(rest, rest) <= kDependent * kDependent * dot(b, b);
}

}  // namespace scalebench
