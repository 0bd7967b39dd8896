// SPDX-License-Identifier: Apache-2.0
// manifest.json: what makes a run's numbers traceable. Who measured what, on what, with which exact
// commands, and the hash of every file, so that a later change is seen.
// A plain value; written anew, atomically, whenever something was added.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/machine/environment.hpp"
#include "bench/record/result_row.hpp"
#include "bench/record/suspects.hpp"

namespace scalebench {

/// Where a rank really was, by its program's own word.
struct RankPlace {
  std::string host;  // as it calls itself
  std::string cpus;  // that the rank may use: "0-3,8"
  int gpus = 0;      // that it sees
};

/// One start of a program.
struct LaunchRecord {
  int number = 0;
  std::string program;
  int ranks = 0;
  std::vector<std::string> command;
  std::string status;  // of the rows' words ok, skipped, failed; or interrupted
  std::string note;
  std::optional<double> seconds;       // from start to exit
  std::string name{};                  // of its folder, after the number
  int attempt = 1;                     // which start of it this is
  std::vector<RankPlace> placement{};  // by rank; empty: no rank came so far as to say it
};

/// A time at which an unfinished run was taken up again.
struct Resumption {
  std::string utc;
  std::vector<std::string> command;  // argv as typed
};

/// Where the numbers of an import come from. The files themselves are not kept: some hold the whole
/// environment of their run, with what is secret in it.
struct ImportRecord {
  struct File {
    std::string name;
    std::string sha256;
    std::uintmax_t bytes = 0;
    std::vector<int> launches;   // that came of it
    std::size_t findings = 0;    // places of it that could not be used
    std::optional<int> round{};  // of its launches; none: each has its own
  };
  std::string kind;  // as typed: nccl-tests, osu, csv, log, published
  std::vector<File> files;
};

/// A host that was asked for, as it was found before the first launch.
struct FoundHost {
  std::string host;          // as asked
  int slots = 0;             // as asked
  std::string found = "ok";  // or "unreachable", "different": it is left out
  std::string note{};        // then why
  std::string name{};        // as it calls itself; empty: it does not answer
  std::string boot_id{};     // of its kernel: equal on hosts that are one machine
  int cores = 0, gpus = 0;
  std::map<std::string, std::string> binaries{};   // name: SHA-256
  std::map<std::string, std::string> libraries{};  // name: version, or the linker's build id
  std::map<std::string, std::string> hardware{};   // as in Identity; not in the manifest
};

/// A host at fault, as the last line names it.
struct Manifest {
  std::string run_id;
  std::string study;
  std::string origin = "measured";
  std::string started_utc;            // "2026-03-01T04:05:06Z"
  std::string finished_utc;           // empty while it runs
  std::string status = "partial";     // or "complete"
  std::vector<std::string> command;   // argv as typed
  std::optional<std::uint64_t> seed;  // of the shuffled order
  std::string config;                 // text of the effective configuration
  BuildInfo tool;
  std::map<std::string, std::string> binaries;  // name: SHA-256
  Environment environment;
  std::vector<Warning> warnings;
  std::vector<LaunchRecord> launches;    // that have ended, by number
  std::vector<LaunchRecord> superseded;  // earlier attempts of them: in no statistic
  std::vector<Resumption> resumptions;
  std::optional<ImportRecord> import;           // of imports only
  std::optional<std::vector<FoundHost>> hosts;  // of studies on several
  std::vector<Suspect> suspects;                // none: nobody, or hosts were not looked at
  std::string suspect_line;                     // that says so; empty: hosts were not looked at
  nlohmann::json job;  // folders of managed_job.hpp, billed and training seconds; else null
  std::string pair;    // the same word in two runs that were measured in turns; else empty
  std::map<std::string, std::string> inputs;  // config.toml, plan.json: SHA-256
  std::map<std::string, std::string> files;   // path within the run's folder: SHA-256
};

/// Hosts that did not take part, or were lost as a whole in launches: "lost", with in how many.
std::vector<Suspect> lost_hosts(const Manifest& run);

/// What is known of the hosts, into `manifest`: first those that were lost, then what rows of
/// hosts.csv say.
void name_hosts(Manifest& manifest, const std::vector<ResultRow>& hosts);

/// The same members alone: `suspects` and `suspect_line`.
nlohmann::ordered_json suspects_json(const std::vector<ResultRow>& hosts);

// A build as manifests and `scalebench doctor --format json` write it.

void to_json(nlohmann::json& object, const BuildInfo& build);
/// Throws nlohmann::json::exception for what is no build.
void from_json(const nlohmann::json& object, BuildInfo& build);

/// Seconds that launches of the training programs took; starting them is part of it.
double training_seconds(const std::vector<LaunchRecord>& launches);

nlohmann::json json_of(const Manifest& manifest);

/// `manifest` with the hashes of what is in `folder` now and the time as its end.
/// `status` is "partial" or "complete".
Manifest updated(Manifest manifest, const std::filesystem::path& folder, std::string status);

/// Writes `folder/manifest.json`. Throws Error (path and reason); an older one is then untouched.
void write_manifest(const std::filesystem::path& folder, const Manifest& manifest);

/// Where the ranks of a launch are, in its folder, until its record has it.
void write_placement(const std::filesystem::path& folder, const std::vector<RankPlace>& places);
/// Empty where there is none. Throws as read_manifest.
std::vector<RankPlace> read_placement(const std::filesystem::path& folder);

/// Reads `folder/manifest.json`. Throws UsageError `file: what` when it is missing, malformed, or
/// of a later schema version.
Manifest read_manifest(const std::filesystem::path& folder);

}  // namespace scalebench
