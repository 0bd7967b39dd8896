// SPDX-License-Identifier: Apache-2.0
// How many times better one of two instance types is in time or in cost, whether that can be told,
// and in words.
#pragma once

#include <cmath>
#include <string>
#include <string_view>

#include "bench/study/analysis/pairs.hpp"

namespace scalebench {

/// Of a column: B over A, above 1 where A is better.
struct Ratio {
  double value = std::nan("");
  double low = std::nan(""), high = std::nan("");  // where a side has an interval
  bool once = false;                               // a side was measured in a single launch

  /// As the verdicts of compare.csv: "a" or "b" is better by more than the floor; "equal" within
  /// it; "open": its interval or a single launch says neither; "" where a side is not known.
  std::string_view verdict() const {
    if (std::isnan(value)) return "";
    if (once) return "open";
    const double least = std::isnan(low) ? value : low, most = std::isnan(high) ? value : high;
    if (least > 1 + kFloor) return "a";
    if (most < 1 / (1 + kFloor)) return "b";
    return least >= 1 / (1 + kFloor) && most <= 1 + kFloor ? "equal" : "open";
  }
  bool told() const { return verdict() == "a" || verdict() == "b"; }
  /// The same with A and B exchanged where B is the better one.
  Ratio of_better() const { return value >= 1 ? *this : Ratio{1 / value, 1 / high, 1 / low, once}; }
};

/// "31x [29, 33] faster", "1.25x faster": of the better one, whichever it is.
std::string faster_by(const Ratio& time);

/// "39 % [37, 41] cheaper"
std::string cheaper_by(const Ratio& usd);

}  // namespace scalebench
