// SPDX-License-Identifier: Apache-2.0
// Who is to blame when nothing moves, from what each rank last told of itself, and the line that
// says so.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace scalebench {

/// How far a rank has come. Sent between ranks as it lies in memory.
struct RankProgress {
  std::uint64_t cells = 0;  // begun so far
  std::uint64_t entered = 0;
  std::uint64_t left = 0;            // of the entered operations
  std::uint64_t entered_before = 0;  // when this cell began
  double limit_seconds = 0;          // without progress that are too long now
  std::uint64_t in_cell = 0;         // 0 or 1
  char name[96] = {};                // of the cell, cut to fit

  /// Nothing has moved between the two.
  bool same_place(const RankProgress& other) const;
};

struct WatchedRank {
  int rank = 0;
  std::string host;
  bool silent = false;  // its watchdog sends nothing
  RankProgress progress;
};

/// One line, without a newline.
std::string describe_death(const WatchedRank& dead);

/// One line: which of `ranks`, of which some are silent, tell nothing any more. Where these are all
/// the ranks of some hosts, it says what that looks like.
std::string describe_silence(std::span<const WatchedRank> ranks, double seconds);

/// `ranks`: all that still take part, at least one. To blame are those that are silent; else those
/// furthest behind, for whom the others wait; else nobody in particular.
std::string describe_hang(std::span<const WatchedRank> ranks, double seconds);

}  // namespace scalebench
