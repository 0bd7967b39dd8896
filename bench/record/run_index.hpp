// SPDX-License-Identifier: Apache-2.0
// results/index.jsonl: a line for each complete run, so that a history of nights is found without
// opening all of them. Derived: the runs decide, it is made anew from them at any time, and nothing
// here reads it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "bench/machine/environment.hpp"

namespace scalebench {

inline constexpr const char* kIndexFile = "index.jsonl";

/// One complete run.
struct IndexEntry {
  std::string run_id;
  std::string study;
  std::string started_utc;
  std::string status;  // the manifest's
  std::string origin;
  std::string commit;           // empty: unknown
  std::string key_hash;         // of the environment's key: equal ones are equal hardware
  std::string complete_sha256;  // what its COMPLETE says
};

struct RunIndex {
  std::vector<IndexEntry> entries;  // by start, then name
  std::vector<std::string> notes;   // what was left out, a line each
};

/// SHA-256 of the canonical JSON of what must be equal to compare two machines.
std::string key_hash_of(const Environment& environment);

/// What index.jsonl says of the run in `folder`, which is complete. Throws UsageError.
IndexEntry index_entry_of(const std::filesystem::path& folder);

/// Adds a line for a complete run in `results`; locked, so that two runs at once both get theirs.
void append_to_index(const std::filesystem::path& results, const IndexEntry& entry);

/// Makes the index anew from the complete runs in `results`, oldest first. Folders that have no
/// COMPLETE are no entries; a run that cannot be read is a note. Throws UsageError: no folder.
RunIndex rebuild_index(const std::filesystem::path& results);

}  // namespace scalebench
