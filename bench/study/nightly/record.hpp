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

/// Writes history.csv and nightly.json; of a night that is no rehearsal its rows go to the end of
/// the study's history.csv, too. Returns the night's folder.
std::filesystem::path write_night(const std::filesystem::path& results, const NightRecord& record);

/// The end of a night, once it has been published: last_success.json, where it is one, or the exit
/// code that it came to after all.
void settle_night(const std::filesystem::path& results, const NightRecord& record);

/// Copies what reports and dashboards read into another folder, each file atomically. Throws Error
/// when one cannot be written, UsageError when another study's night is there.
void publish(const std::filesystem::path& folder, const std::filesystem::path& to);

/// Accepts the programs that measured a night, and begins anew the nights of the cells that were
/// not the same in it; those that the study no longer asks for are dropped. Returns what that comes
/// to, in lines. Throws UsageError as accept_build does, and for a rehearsal.
std::string accept_night(const std::filesystem::path& results, const std::string& run_id,
                         const std::string& reason);

}  // namespace scalebench
