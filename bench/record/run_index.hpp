// SPDX-License-Identifier: Apache-2.0
// results/index.jsonl: a line for each complete run, so that a history of nights is found without
// opening all of them. Derived: the runs decide, and it is made anew from them at any time. What it
// says is compared with what is there; a damaged one is kept aside and never believed.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "bench/record/environment.hpp"

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

  bool operator==(const IndexEntry&) const = default;
};

struct RunIndex {
  std::vector<IndexEntry> entries;  // by start, then name
  std::vector<std::string> notes;   // what had to be done or left out, a line each
};

/// SHA-256 of the canonical JSON of what must be equal to compare two machines.
std::string key_hash_of(const Environment& environment);

/// What index.jsonl says of the run in `folder`, which is complete. Throws UsageError.
IndexEntry index_entry_of(const std::filesystem::path& folder);

/// Adds a line for a complete run in `results`; locked, so that two runs at once both get theirs.
void append_to_index(const std::filesystem::path& results, const IndexEntry& entry);

/// The complete runs in `results`, oldest first. When the index is missing, damaged, or not what
/// the folders say, it is made anew, with a note; a damaged one is kept as
/// index.jsonl.damaged-TIME. Folders that have no COMPLETE are no entries; one whose manifest
/// cannot be read is a note.
RunIndex read_index(const std::filesystem::path& results);

/// Makes the index anew from the runs.
RunIndex rebuild_index(const std::filesystem::path& results);

}  // namespace scalebench
