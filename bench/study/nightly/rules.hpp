// SPDX-License-Identifier: Apache-2.0
// The two questions of a night, each with one rule. Values in, verdicts out. Why so, and how often
// they are wrong: docs/nightly.md.
#pragma once

#include <cmath>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/study/analysis/pairs.hpp"

namespace scalebench {

inline constexpr double kSeen = 0.10;  // a change that a night has to see

// Did the build make it slower? Rounds in which tonight's programs (b) and the accepted ones (a)
// ran in turns, and those in which suspects were measured again.

struct BuildRounds {
  CellSamples sweep;
  CellSamples again;  // in the rerun; empty: not measured again
};

struct BuildCell : CellComparison {
  std::string_view word = "MISSING";  // FASTER SLOWER SAME UNDECIDED MISSING
  std::string_view note{};
  bool suspect = false;  // looks slower in the sweep, and is to be measured again
  bool open = false;     // a suspect without an answer
};

/// Suspects are by chance alone one cell in fifty.
std::vector<BuildCell> judge_build(std::span<const BuildRounds> cells);

// Did the machine become slower? The accepted programs' cells against their own nights.

inline constexpr double kMachineFloor = 0.03;    // relative; less is no change
inline constexpr std::size_t kFewestNights = 8;  // good ones, before a cell is judged

/// One cell in one night. UNDECIDED: before kFewestNights good ones; WATCHED: beyond its good
/// nights for the first time; MACHINE: so two nights running, or in five of the last ten, or all
/// cells together; MISSING: not measured.
struct CellNight {
  double seconds = std::nan("");
  std::string word = "MISSING";

  bool good() const { return word == "UNDECIDED" || word == "SAME"; }
  bool beyond() const { return word == "WATCHED" || word == "MACHINE"; }
};

/// All cells of one night together.
struct TogetherNight {
  double change = std::nan("");  // the median of the cells' relative changes; NaN: none has one
  bool machine = false;
};

/// What is known of the nights before, oldest first.
struct MachineNights {
  std::map<std::string, std::vector<CellNight>> cells;  // by key, since each was last accepted
  std::vector<TogetherNight> together;
};

/// What tonight says of one cell. Changes are relative to `before`; positive is slower.
struct MachineCell : CellNight {
  std::size_t nights = 0;        // good ones, of which the last twenty are looked at
  double before = std::nan("");  // their median, in seconds
  double change = std::nan("");
  double limit = std::nan("");  // a larger change is WATCHED; NaN: too few nights

  /// Whether there is a night of it.
  bool is_known() const { return nights > 0 || !std::isnan(seconds); }
};

struct MachineTonight {
  std::map<std::string, MachineCell> cells;  // of tonight and of the nights before
  TogetherNight together;
};

/// `seconds`: of tonight's measured cells, by key.
MachineTonight judge_machine(const MachineNights& nights,
                             const std::map<std::string, double>& seconds);

}  // namespace scalebench
