// SPDX-License-Identifier: Apache-2.0
// Which member (a rank or a host) or which single pair is slower than the others, from the time of
// every pair.
#pragma once

#include <span>
#include <vector>

namespace scalebench {

/// Two members that worked together, `a` < `b`, numbered from 0.
struct PairTime {
  int a = 0;
  int b = 0;
  /// Pairs of one kind are alike but for noise and what is wrong: on one host, say, or between two.
  int kind = 0;
  double seconds = 0;
};

/// All pairs of member `a`, or only its pair with `b`, take `slower` times as long as pairs of
/// their kind without anybody who is slow.
struct PairOutlier {
  int a = 0;
  int b = -1;  // -1: all of a's pairs
  double slower = 1;
  double p_value = 1;
};

/// Fewer pairs than this leave nothing to judge by: four members have six.
inline constexpr std::size_t kFewestPairs = 6;

/// Mean-shift outliers of log(seconds), one step after the other, each the one that is least likely
/// by chance (Cook and Weisberg 1982, Residuals and Influence in Regression, 2.2.2): a member, a
/// pair, or several members at once, each of whom alone would be hidden by what the others do.
/// Those are fewer than half of all, and slow with each other too. One counts that slows by 10 % at
/// least, with p <= 0.01 by Student's t over what no outlier explains, times the candidates and
/// `tests` (of how many tables of times this is one). Candidates are all members, all pairs, and
/// all sets of members, which with k members count 4^k times: a twelfth of all that may be found by
/// chance. In the order in which they were found; empty with fewer than kFewestPairs.
std::vector<PairOutlier> pair_outliers(std::span<const PairTime> pairs, int members, int tests);

}  // namespace scalebench
