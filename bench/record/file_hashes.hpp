// SPDX-License-Identifier: Apache-2.0
// The SHA-256 of every file of a run, and what has changed since.
// Left out: what holds the hashes (manifest.json, SHA256SUMS, COMPLETE), and what is drawn from the
// CSVs at any later time (report.html, report.md, figures/).
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace scalebench {

/// Path within `folder` with '/' between its parts: 64 hex digits. Links are not followed.
std::map<std::string, std::string> file_hashes(const std::filesystem::path& folder);

/// The links of any kind in `folder`, but for those among what is drawn.
std::vector<std::string> links_in(const std::filesystem::path& folder);

/// One line for each file that is "missing", "changed" or "not in the manifest": "samples.csv:
/// changed". Empty when `folder` holds exactly what `recorded` says.
std::vector<std::string> file_differences(const std::filesystem::path& folder,
                                          const std::map<std::string, std::string>& recorded);

}  // namespace scalebench
