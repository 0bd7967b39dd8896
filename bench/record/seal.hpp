// SPDX-License-Identifier: Apache-2.0
// The end of a run: SHA256SUMS, as sha256sum writes and checks it, and COMPLETE, which holds that
// file's hash and appears last and at once. A run that has it is never written again, except for
// what is drawn from it.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "bench/record/manifest.hpp"

namespace scalebench {

// The SHA-256 of every file of a run.
// Left out: what holds the hashes (manifest.json, SHA256SUMS, COMPLETE), and what is drawn from the
// CSVs at any later time (report.html, report.md, figures/).

/// Path within `folder` with '/' between its parts: 64 hex digits. Links are not followed.
std::map<std::string, std::string> file_hashes(const std::filesystem::path& folder);

inline constexpr const char* kSumsFile = "SHA256SUMS";
inline constexpr const char* kCompleteFile = "COMPLETE";

/// Whether the run in `folder` has been sealed.
bool is_sealed(const std::filesystem::path& folder);

/// Writes SHA256SUMS over `files` (path within the folder: SHA-256) and the manifest, then
/// COMPLETE. Throws Error (path and reason).
void seal_folder(const std::filesystem::path& folder,
                 const std::map<std::string, std::string>& files);

/// The lines of SHA256SUMS: path within the folder: SHA-256. Throws UsageError `file:line: what`
/// for what is no such line, for a path twice, and for one that would leave the folder.
std::map<std::string, std::string> read_sums(const std::filesystem::path& folder);

/// What the hashes say about a run's files.
struct HashCheck {
  std::vector<std::string> differences;  // "samples.csv: changed", a line each
  std::vector<std::string> notes;        // what is not there to be checked
  std::size_t files = 0;                 // that were hashed
  std::string manifest_sha256;
};

/// Compares what is in `folder` with COMPLETE, SHA256SUMS and its manifest: missing, changed, and
/// extra files; links are refused, never followed. A run that is not sealed is compared with its
/// manifest alone, and may have other folders beside its own.
HashCheck check_hashes(const std::filesystem::path& folder, const Manifest& manifest);

/// Throws UsageError when the folder is sealed: "RUN is complete: ...".
void require_not_sealed(const std::filesystem::path& folder);

// results/index.jsonl: a line for each complete run, so that a history of nights is found without
// opening all of them. Derived: the runs decide, it is made anew from them at any time, and nothing
// here reads it.

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
