// SPDX-License-Identifier: Apache-2.0
// From nights of cells to the series that the gate tests: cells in order of their first appearance
// tonight, then those that only earlier nights have.
#pragma once

#include <vector>

#include "bench/study/gate.hpp"

namespace scalebench {

struct GateTable {
  GateSeriesSet set;
  std::vector<const NightCell*> last;     // of each series: tonight's cell, else the latest before
  std::vector<const NightCell*> tonight;  // null: not there tonight
};

/// Pointers are into `input`, which must outlive them.
GateTable gate_table(const GateInput& input);

/// How many accepted changes of this cell lie at or before a night.
int segment_of(const GateInput& input, const NightCell& cell, const Night& night);

/// The shift of the host during the rerun of `night`, from the cells that were no suspects;
/// kNotMeasured when too few tell.
double shift_of_rerun(const GateSeriesSet& set, const NightBaseline& baseline,
                      const NightTest& test, std::size_t night);

}  // namespace scalebench
