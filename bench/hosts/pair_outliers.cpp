// SPDX-License-Identifier: Apache-2.0
#include "bench/hosts/pair_outliers.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
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

using Members = std::set<int>;
using Pairs = std::vector<PairTime>;

Column column_of(const Pairs& pairs, const Members& members) {
  Column column;
  for (const PairTime& pair : pairs) {
    column.push_back(members.contains(pair.a) || members.contains(pair.b) ? 1 : 0);
  }
  return column;
}

Column column_of(const Pairs& pairs, const PairOutlier& one) {
  if (one.b < 0) return column_of(pairs, Members{one.a});
  Column column;
  for (const PairTime& pair : pairs) column.push_back(pair.a == one.a && pair.b == one.b ? 1 : 0);
  return column;
}

Fit fit_of_kinds(const Pairs& pairs) {
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

double log_choices(int of, int size) {
  return std::lgamma(of + 1.0) - std::lgamma(size + 1.0) - std::lgamma(of - size + 1.0);
}

/// What a step may add: these members, or where there are none that pair.
struct Candidate {
  Members members;
  PairOutlier pair;
  Fit::Step step;
  double log_p = std::numeric_limits<double>::infinity();  // times the candidates: may be > 0
};

class Search {
 public:
  Search(std::span<const PairTime> pairs, int members, int tests)
      : pairs_(pairs.begin(), pairs.end()), members_(members), tests_(tests) {}

  std::vector<PairOutlier> run() {
    while (add_next()) {
    }
    // By how much is told best beside all others, those that were found later too.
    const Pairs pairs = pairs_beside({}, true);
    const std::vector<PairOutlier> all = found_;
    for (PairOutlier& one : found_) {
      Fit fit = fit_of_kinds(pairs);
      for (const PairOutlier& other : all) {
        if (other.a != one.a || other.b != one.b) fit.add(column_of(pairs, other));
      }
      const Candidate beside = tried(fit, column_of(pairs, one), 1);
      if (explains_more(beside, {})) one.slower = std::exp(beside.step.coefficient);
    }
    return std::move(found_);
  }

 private:
  bool add_next() {
    std::vector<Candidate> candidates{largest_alone()};
    add_sets(candidates);
    std::ranges::stable_sort(candidates, [](const Candidate& a, const Candidate& b) {
      return std::pair(a.log_p, -a.step.squares) < std::pair(b.log_p, -b.step.squares);
    });
    return std::ranges::any_of(candidates, [&](const Candidate& one) { return add(one); });
  }

  /// A pair of two that are slow is as slow as the slower one, and says nothing more of either:
  /// without those among the named and `next`, or `within` the latter.
  Pairs pairs_beside(const Members& next, bool within) const {
    Pairs left = pairs_;
    std::erase_if(left, [&](const PairTime& pair) {
      const bool a = named_.contains(pair.a), b = named_.contains(pair.b);
      const bool next_a = next.contains(pair.a), next_b = next.contains(pair.b);
      return (a || next_a) && (b || next_b) && (within || !(next_a && next_b));
    });
    return left;
  }

  Fit fit_of(const Pairs& pairs) const {
    Fit fit = fit_of_kinds(pairs);
    for (const PairOutlier& one : found_) fit.add(column_of(pairs, one));
    return fit;
  }

  /// What the column explains beside the fit; `size`: of how many members it is.
  Candidate tried(const Fit& fit, const Column& column, std::size_t size) const {
    Candidate one;
    const Column remainder = fit.remainder_of(column);
    if (remainder.empty() || column.size() <= fit.parameters() + 1) return one;
    one.step = fit.step(remainder);
    const auto freedom = static_cast<double>(column.size() - fit.parameters() - 1);
    const double noise = std::max(fit.squares_left() - one.step.squares, 0.0) / freedom;
    const double t = one.step.coefficient * std::sqrt(one.step.length / noise);
    const double alone = noise > 0 ? student_t_tail(t, freedom) : 0;
    one.log_p = std::log(alone) + log_candidates(size) + std::log(tests_);
    return one;
  }

  double log_candidates(std::size_t size) const {
    constexpr double kOfSets = 1.0 / 12;  // 4^-2 + 4^-3 + ...
    const auto k = static_cast<int>(size);
    if (k > 1) return log_choices(members_, k) + k * std::log(4);
    const auto alone = static_cast<double>(members_) + static_cast<double>(pairs_.size());
    return std::log(alone / (may_be_slow(2) ? 1 - kOfSets : 1));
  }

  /// Who are half of all or more may as well be as they should, and the others quick.
  bool may_be_slow(std::size_t members) const {
    return 2 * members < static_cast<std::size_t>(members_);
  }

  static bool explains_more(const Candidate& one, const Candidate& than) {
    return one.step.coefficient > 0 && one.step.squares > than.step.squares * (1 + kNothingLeft);
  }

  Candidate tried(Members members) const {
    const Pairs pairs = pairs_beside(members, false);
    Candidate one = tried(fit_of(pairs), column_of(pairs, members), members.size());
    one.members = std::move(members);
    return one;
  }

  Candidate largest_alone() const {
    Candidate largest;
    // A member before its one pair, where both explain as much: it comes first.
    for (int member = 0; member < members_; ++member) {
      if (named_.contains(member)) continue;
      Candidate one = tried(Members{member});
      if (explains_more(one, largest)) largest = std::move(one);
    }
    const Pairs pairs = pairs_beside({}, true);
    const Fit fit = fit_of(pairs);
    for (const PairTime& pair : pairs) {
      const PairOutlier outlier{.a = pair.a, .b = pair.b};
      Candidate one = tried(fit, column_of(pairs, outlier), 1);
      one.pair = outlier;
      if (explains_more(one, largest)) largest = std::move(one);
    }
    return largest;
  }

  /// One set of each size, as long as one more member makes it less likely by chance.
  void add_sets(std::vector<Candidate>& candidates) const {
    Candidate last;
    while (may_be_slow(named_.size() + last.members.size() + 1)) {
      Candidate largest;
      for (int member = 0; member < members_; ++member) {
        if (named_.contains(member) || last.members.contains(member)) continue;
        Members members = last.members;
        members.insert(member);
        Candidate one = tried(std::move(members));
        if (explains_more(one, largest)) largest = std::move(one);
      }
      if (largest.log_p >= last.log_p) return;
      if (largest.members.size() > 1) candidates.push_back(largest);
      last = std::move(largest);
    }
  }

  static bool counts(const Candidate& one) {
    return one.step.coefficient >= std::log(kLeastSlower) && one.log_p <= std::log(kMostP);
  }

  bool add(const Candidate& one) {
    if (!counts(one) || !slow_within(one.members)) return false;
    std::vector<PairOutlier> each;
    if (one.members.empty()) {
      each.push_back({one.pair.a, one.pair.b, std::exp(one.step.coefficient), std::exp(one.log_p)});
    }
    const Pairs pairs = pairs_beside(one.members, true);
    for (const int member : one.members) {
      // Beside the others of its set, which do not hide it then.
      Fit fit = fit_of(pairs);
      for (const int other : one.members) {
        if (other != member) fit.add(column_of(pairs, Members{other}));
      }
      const Candidate own = tried(fit, column_of(pairs, Members{member}), 1);
      if (!counts(own)) return false;
      const double log_p = std::max(own.log_p, one.log_p);
      each.push_back({member, -1, std::exp(own.step.coefficient), std::exp(log_p)});
    }
    named_.insert(one.members.begin(), one.members.end());
    found_.insert(found_.end(), each.begin(), each.end());
    return true;
  }

  /// Whether the pairs between these members are slow as well: else they are near each other and
  /// far from the rest, and none of them is slow.
  bool slow_within(const Members& members) const {
    std::map<int, std::vector<double>> free;  // by kind
    for (const PairTime& pair : pairs_) {
      const auto is_free = [&](int member) {
        return !members.contains(member) && !named_.contains(member);
      };
      if (is_free(pair.a) && is_free(pair.b)) free[pair.kind].push_back(pair.seconds);
    }
    return std::ranges::all_of(pairs_, [&](const PairTime& pair) {
      const bool within = members.contains(pair.a) && members.contains(pair.b);
      const auto like = free.find(pair.kind);
      return !within || like == free.end() ||
             pair.seconds >= kLeastSlower * median_of(like->second);
    });
  }

  Pairs pairs_;
  int members_;
  int tests_;
  std::vector<PairOutlier> found_;
  Members named_;
};

}  // namespace

std::vector<PairOutlier> pair_outliers(std::span<const PairTime> pairs, int members, int tests) {
  if (pairs.size() < kFewestPairs) return {};
  return Search(pairs, members, tests).run();
}

}  // namespace scalebench
