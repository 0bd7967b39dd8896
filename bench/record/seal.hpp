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

/// What the hashes say about a run's files.
struct HashCheck {
  std::vector<std::string> differences;  // "samples.csv: changed", a line each
  std::vector<std::string> notes;        // what is not there to be checked
  std::size_t files = 0;                 // that were hashed
  std::string manifest_sha256;
};

/// Compares what is in `folder` with the hashes in its manifest: missing and changed files; a link
/// is never followed, and so its file is missing. SHA256SUMS of a sealed run is that which its
/// manifest makes, COMPLETE has its hash, and there are no more files.
HashCheck check_hashes(const std::filesystem::path& folder, const Manifest& manifest);

/// Throws UsageError when the folder is sealed: "RUN is complete: ...".
void require_not_sealed(const std::filesystem::path& folder);

/// SHA-256 of the canonical JSON of what must be equal to compare two machines.
std::string key_hash_of(const Environment& environment);

}  // namespace scalebench
