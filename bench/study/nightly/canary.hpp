// SPDX-License-Identifier: Apache-2.0
// Whether a night's gate can see: one set of launches is measured again with a slow-down put in on
// purpose, in turns with the accepted build where that runs, and goes through the gate in place of
// what the night measured. A run folder of its own, so that it can be judged again.
#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "bench/study/nightly/gate.hpp"
#include "bench/study/plan/plan.hpp"

namespace scalebench {

/// The relative drop of speed. Clearly more than kToBeSeen, so that cells which would show that
/// four times in five show this nearly always.
inline constexpr double kCanaryDrop = 0.15;
/// A cell that was slowed by more than this says nothing of a drop of kCanaryDrop. What is put in
/// grows with what ranks wait for each other, so that it is measured.
inline constexpr double kMostCanaryDrop = 0.25;
/// Below, an operation is too short to be made longer by a known share.
inline constexpr double kLeastCanaryBytes = 1 << 20;

struct CanaryPlan {
  std::vector<PlannedLaunch> slowed;  // all rounds of one set of launches
  std::vector<PlannedLaunch> as_is;   // the same launches; for the accepted build
  std::string why_not;                // not empty: nothing to slow down, for this reason
};

/// Of the launches that a fault slows down by a known share (allreduces of kLeastCanaryBytes and
/// more, but graphs; epochs on one rank), those that hold the most such cells that the gate says to
/// see, for their time. `plan`: of the night `sweep`.
CanaryPlan canary_plan(const StoredRun& sweep, const std::vector<PlannedLaunch>& plan,
                       const GateReport& report);

/// Tonight with the values of the slowed launches in place of its own: `slowed` are their cells,
/// `ratios` theirs beside the accepted build. None: the night judges no cell of them. One that has
/// no value to judge, or was slowed by too much in all cells, says why_not.
std::optional<Canary> canary_in(const GateInput& input, const GateReport& report,
                                const Night& slowed, const CellRatios& ratios);

/// The same from the run canary_name(tonight) in `results`; none: there is no such run. One that
/// did not end in good order says why_not.
std::optional<Canary> canary_of(const std::filesystem::path& results, const GateInput& input,
                                const GateReport& report);

}  // namespace scalebench
