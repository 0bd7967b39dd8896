// SPDX-License-Identifier: Apache-2.0
// From nights of cells to the series that the gate tests.
#pragma once

#include <string>
#include <vector>

#include "bench/study/nightly/gate.hpp"

namespace scalebench {

/// Cells in order of their first appearance tonight, then those that only earlier nights have.
/// Pointers are into the input.
struct GateTable {
  GateSeriesSet set;
  /// Cells of the accepted build that ran beside the last night which had one, in the nights in
  /// which that very build ran.
  GateSeriesSet controls;
  std::vector<const NightCell*> control_cells{};  // of each of those series
  std::vector<Remembered> remembered{};           // of what earlier records say is open
  std::vector<Remembered> remembered_controls{};
  std::vector<const NightCell*> last{};  // of each series: tonight's cell, else the latest before
  std::vector<const NightCell*> tonight{};  // null: not there tonight
};

GateTable gate_table(const GateInput& input);

/// How many accepted changes of this cell lie at or before the begin of a night.
int segment_of(const GateInput& input, const NightCell& cell, const std::string& started_utc);

/// When a run began: as its manifest says, else as its name does ("20260301T040506Z-..."); empty:
/// nobody can say.
std::string start_of(const GateInput& input, const std::string& run);

}  // namespace scalebench
