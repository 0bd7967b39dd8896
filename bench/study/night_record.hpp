// SPDX-License-Identifier: Apache-2.0
// All that is known of a night, as nightly.json holds it for the reports.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/record/manifest.hpp"
#include "bench/study/doctor.hpp"
#include "bench/study/gate.hpp"
#include "bench/study/night_verdict.hpp"

namespace scalebench {

struct NightStep {
  std::string name;               // lock doctor aa sweep rerun analyse report publish
  std::string status;             // ok warning failed skipped
  std::optional<double> seconds;  // none: not measured, as of a step that did not run
  std::string note;
};

/// The A/A comparison of the night.
struct AaCheck {
  std::string run;
  std::size_t cells = 0;
  std::size_t differing = 0;
  double spread = kNotMeasured;
  double smallest_effect = kNotMeasured;
};

struct FailedLaunch {
  int number = 0;
  std::string name;  // of its folder, without the number
  std::string why;
  std::string stderr_tail;
};

struct NightRecord {
  Manifest run;  // the sweep's
  std::string host;
  std::string scheduled_utc;  // empty: not told
  std::string finished_utc;
  NightVerdict verdict;
  std::vector<NightStep> steps;
  std::optional<AaCheck> aa;
  std::vector<FailedLaunch> failed_launches;
  std::vector<Finding> doctor;
  nlohmann::json before;  // an earlier nightly.json of this night, which knows what was done when
                          // it was measured; else null
};

/// `input` and `report` belong together.
nlohmann::json json_of(const NightRecord& night, const GateInput& input, const GateReport& report);

}  // namespace scalebench
