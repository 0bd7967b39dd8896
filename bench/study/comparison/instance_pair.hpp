// SPDX-License-Identifier: Apache-2.0
// Two ways to train the same, each on whole instances of a type: how far apart they are in time and
// in cost, whether that can be told, and all of it in words. Rows are those of cost.csv.
#pragma once

#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "bench/record/result_row.hpp"

namespace scalebench {

/// One of the types that are compared, with what is known of it on one workload.
struct InstanceType {
  std::string name;
  std::vector<const ResultRow*> rows{};
};

double seconds_of(const ResultRow& cost);
double usd_of(const ResultRow& cost);  // NaN without a price
/// Of one type the cost goes with it, whatever an hour costs.
double instance_seconds(const ResultRow& cost);

/// Of a column: B over A, above 1 where A is better.
struct Ratio {
  static constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

  double value = kUnknown;
  double low = kUnknown, high = kUnknown;  // where a side has an interval
  bool once = false;                       // a side was measured in a single launch
  /// As the verdicts of compare.csv: "a" or "b" is better by more than the floor; "equal" within
  /// it; "open": its interval or a single launch says neither; "" where a side is not known.
  std::string_view verdict() const;
  bool told() const { return verdict() == "a" || verdict() == "b"; }
  /// How many times better the better one is.
  double factor() const { return value >= 1 ? value : 1 / value; }
};

struct InstancePair {
  const InstanceType& type_a;
  const InstanceType& type_b;
  const ResultRow& a;
  const ResultRow& b;
  Ratio time, usd;

  InstancePair(const InstanceType& with_a, const InstanceType& with_b, const ResultRow& row_a,
               const ResultRow& row_b);

  // Of side "a" or "b".
  const InstanceType& type(std::string_view side) const { return side == "a" ? type_a : type_b; }
  const ResultRow& row(std::string_view side) const { return side == "a" ? a : b; }
  /// "2 x p3.8xlarge"
  std::string name(std::string_view side) const;
  /// What an hour of this side would have to cost for its epoch to cost as much as the other's.
  double equal_price(std::string_view side) const;
};

inline std::string_view other_side(std::string_view side) { return side == "a" ? "b" : "a"; }

/// "p3.8xlarge: 31x faster and 39 % cheaper an epoch (measured, 4 launches, prices of 2026-07-20);
/// g2.2xlarge would have to cost 0.399 usd an hour to be equal in cost".
std::string best_sentence(const InstancePair& best);

/// What that leaves open, and what would have to be measured to know it.
std::string unknown_after(const InstancePair& best);

/// "For 0.34 usd an epoch: p3.8xlarge takes 1.67 min, 4 x g2.2xlarge 3.33 min; ...": the fastest
/// ways that keep a budget, or the cheapest that keep a deadline in seconds.
std::string budget_sentence(const InstancePair& fastest, double usd);
std::string deadline_sentence(const InstancePair& cheapest, double seconds);

}  // namespace scalebench
