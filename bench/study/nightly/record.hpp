// SPDX-License-Identifier: Apache-2.0
// results/nightly/RUN: all that is known of a night, for the reports, and for whoever accepts it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "bench/record/manifest.hpp"
#include "bench/study/nightly/accepted.hpp"
#include "bench/study/nightly/night.hpp"

namespace scalebench {

inline constexpr const char* kNightRecord = "nightly.json";

struct NightRecord {
  Manifest run;  // tonight's; of a night that measured nothing what is known without
  Night night;
  int exit_code = 0;
  std::string rehearsal;  // what was put in on purpose; empty: a night like others
  AcceptedTonight accepted;
};

/// Hosts of the run that are dead, or named at fault: "host3: unreachable: no answer".
std::vector<std::string> hosts_at_fault(const Manifest& run);

/// Writes gate.csv and nightly.json; of a night that is no rehearsal also its rows of the study's
/// history.csv and, where it ended with 0, last_success.json. Returns the night's folder.
std::filesystem::path write_night(const std::filesystem::path& results, const NightRecord& record);

/// Copies what reports and dashboards read into another folder, each file atomically. Throws Error
/// when one cannot be written, UsageError when another study's night is there.
void publish(const std::filesystem::path& folder, const std::filesystem::path& to);

/// What accepting a night has come to.
struct Acceptance {
  AcceptedBuild build;
  std::vector<std::string> anew;     // labels of cells that were not the same
  std::vector<std::string> dropped;  // that the study no longer asks for
};

/// Accepts the programs that measured a night, and begins anew the nights of the cells that were
/// not the same in it. Throws UsageError as accept_build does, and for a rehearsal.
Acceptance accept_night(const std::filesystem::path& results, const std::string& run_id,
                        const std::string& reason);

}  // namespace scalebench
