// SPDX-License-Identifier: Apache-2.0
// The accepted build of a study on this hardware: its programs, kept beside the results, to run in
// turns with those of every later night. It does not change with the commit, so that what differs
// beside it in one night is the commit, and what it does itself from night to night is the host.
// Libraries are the machine's for both sides; those that have changed since are named.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench/record/manifest.hpp"
#include "bench/study/nightly/history.hpp"
#include "bench/study/run/setup.hpp"

namespace scalebench {

struct AcceptedBuild {
  std::string study;
  std::string run_id;  // the night that measured it
  std::string accepted_utc;
  BuildInfo tool;
  std::string key_hash;                          // of the hardware that it was measured on
  std::map<std::string, std::string> programs;   // name: SHA-256
  std::map<std::string, std::string> libraries;  // path as the loader finds it: SHA-256
};

/// Keeps the programs here as the accepted build of the study of `run`, in
/// `results`/nightly/accepted/; an earlier one is replaced once the new one is whole. Throws
/// UsageError unless `run` is complete, of this hardware, and measured by just these programs;
/// DiskFull where they find no room.
AcceptedBuild accept_build(const std::filesystem::path& results, const Manifest& run);

/// The folder of its programs, once there is one, for runs of this study on this hardware.
std::filesystem::path accepted_programs(const std::filesystem::path& results, const Manifest& run);

/// What of the accepted build can be used tonight.
struct AcceptedTonight {
  std::optional<AcceptedBuild> accepted;
  Build build;                                 // to start
  std::vector<std::string> changed_libraries;  // since it was accepted
  std::string why_not;                         // not empty: tonight goes without, for this reason
};

/// Looks for the accepted build of `study` and whether it is what it was, starts here and has what
/// `plan` starts. Throws nothing for a build that cannot be used: that is `why_not`.
AcceptedTonight accepted_tonight(const std::filesystem::path& results, const std::string& study,
                                 const std::vector<PlannedLaunch>& plan);

/// Of the run `run_id` in `results` over what the accepted build measured in turns with it; empty:
/// nothing did.
CellRatios ratios_beside(const std::filesystem::path& results, const std::string& run_id);

/// What the accepted build measured in turns with the run `run_id` in `results`, and with its
/// rerun; none: nothing did.
std::optional<BesideNight> beside_night(const std::filesystem::path& results,
                                        const std::string& run_id);

}  // namespace scalebench
