// SPDX-License-Identifier: Apache-2.0
#include "bench/hosts/pair_outliers.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <set>

#include "bench/measure/statistics.hpp"

namespace scalebench {
namespace {

constexpr double kLeastSlower = 1.1;
constexpr double kMostP = 0.01;
constexpr double kNothingLeft = 1e-9;  // of a squared column, once the others explain it

using Column = std::vector<double>;

double dot(const Column& a, const Column& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

/// Least squares, a column at a time: what the columns so far leave of the times.
class Fit {
 public:
  explicit Fit(Column times) : rest_(std::move(times)) {}

  /// A column as far as those before it do not explain it; empty where they explain all.
  Column remainder_of(Column column) const {
    const double whole = dot(column, column);
    for (const Column& one : basis_) {
      const double part = dot(one, column);
      for (std::size_t i = 0; i < column.size(); ++i) column[i] -= part * one[i];
    }
    if (dot(column, column) <= kNothingLeft * whole) column.clear();
    return column;
  }

  /// The coefficient of a column's remainder, and how far it lowers the sum of squares.
  struct Step {
    double coefficient = 0;
    double squares = 0;
    double length = 0;  // of the remainder, squared
  };
  Step step(const Column& remainder) const {
    const double length = dot(remainder, remainder), along = dot(remainder, rest_);
    return {along / length, along * along / length, length};
  }

  void add(Column column) {
    column = remainder_of(std::move(column));
    if (column.empty()) return;
    const double length = std::sqrt(dot(column, column));
    for (double& value : column) value /= length;
    const double along = dot(column, rest_);
    for (std::size_t i = 0; i < rest_.size(); ++i) rest_[i] -= along * column[i];
    basis_.push_back(std::move(column));
  }

  double squares_left() const { return dot(rest_, rest_); }
  std::size_t parameters() const { return basis_.size(); }

 private:
  Column rest_;
  std::vector<Column> basis_;  // orthonormal
};

Column column_of(std::span<const PairTime> pairs, const PairOutlier& one) {
  Column column;
  for (const PairTime& pair : pairs) {
    const bool has_it =
        one.b < 0 ? pair.a == one.a || pair.b == one.a : pair.a == one.a && pair.b == one.b;
    column.push_back(has_it ? 1 : 0);
  }
  return column;
}

Fit fit_of_kinds(std::span<const PairTime> pairs) {
  Column times;
  std::set<int> kinds;
  for (const PairTime& pair : pairs) {
    times.push_back(std::log(pair.seconds));
    kinds.insert(pair.kind);
  }
  Fit fit(std::move(times));
  for (const int kind : kinds) {
    Column column;
    for (const PairTime& pair : pairs) column.push_back(pair.kind == kind ? 1 : 0);
    fit.add(std::move(column));
  }
  return fit;
}

}  // namespace

std::vector<PairOutlier> pair_outliers(std::span<const PairTime> pairs, int members, int tests) {
  std::vector<PairOutlier> found;
  if (pairs.size() < kFewestPairs) return found;
  std::vector<PairOutlier> candidates;
  for (int member = 0; member < members; ++member) candidates.push_back({.a = member});
  for (const PairTime& pair : pairs) candidates.push_back({.a = pair.a, .b = pair.b});

  Fit fit = fit_of_kinds(pairs);
  while (pairs.size() > fit.parameters() + 1) {
    PairOutlier best;
    Fit::Step largest;
    for (const PairOutlier& one : candidates) {
      const Column remainder = fit.remainder_of(column_of(pairs, one));
      if (remainder.empty()) continue;
      const Fit::Step step = fit.step(remainder);
      // A member before its one pair, where both explain as much: it comes first.
      if (step.coefficient > 0 && step.squares > largest.squares * (1 + kNothingLeft)) {
        best = one;
        largest = step;
      }
    }
    if (largest.coefficient < std::log(kLeastSlower)) break;
    const auto freedom = static_cast<double>(pairs.size() - fit.parameters() - 1);
    const double noise = std::max(fit.squares_left() - largest.squares, 0.0) / freedom;
    const double t = largest.coefficient * std::sqrt(largest.length / noise);
    const double alone = noise > 0 ? student_t_tail(t, freedom) : 0;
    best.p_value = std::min(alone * static_cast<double>(candidates.size()) * tests, 1.0);
    if (best.p_value > kMostP) break;
    best.slower = std::exp(largest.coefficient);
    found.push_back(best);
    fit.add(column_of(pairs, best));
  }
  return found;
}

}  // namespace scalebench
