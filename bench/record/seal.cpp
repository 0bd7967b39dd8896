// SPDX-License-Identifier: Apache-2.0
#include "bench/record/seal.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "bench/machine/digest.hpp"
#include "bench/record/file.hpp"
#include "bench/record/result_row.hpp"
#include "bench/record/results_folder.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

namespace fs = std::filesystem;

bool belongs(const fs::path& relative) {
  const bool drawn =
      relative == "report.html" || relative == "report.md" || *relative.begin() == "figures";
  const bool seals =
      relative == "manifest.json" || relative == kSumsFile || relative == kCompleteFile;
  return !drawn && !seals && !is_lock_file(relative) && !is_temporary_file(relative);
}

}  // namespace

std::map<std::string, std::string> file_hashes(const fs::path& folder) {
  std::map<std::string, std::string> hashes;
  std::error_code error;
  const fs::recursive_directory_iterator entries(folder, error);
  if (error) fail("cannot list '{}': {}", folder.string(), error.message());
  for (const fs::directory_entry& entry : entries) {
    const fs::path relative = entry.path().lexically_relative(folder);
    if (!entry.is_symlink() && entry.is_regular_file() && belongs(relative)) {
      hashes[relative.generic_string()] = sha256_of_file(entry.path());
    }
  }
  return hashes;
}

namespace {

/// Of any kind, but for those among what is drawn.
std::vector<std::string> links_in(const fs::path& folder) {
  std::vector<std::string> links;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    const fs::path relative = entry.path().lexically_relative(folder);
    if (entry.is_symlink() && *relative.begin() != "figures") {
      links.push_back(relative.generic_string());
    }
  }
  return links;
}

constexpr std::size_t kHashLength = 64;
constexpr const char* kManifest = "manifest.json";

bool is_hash(std::string_view text) {
  return text.size() == kHashLength &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

/// Whether the path, as written, stays below the folder that it is taken from.
bool stays_inside(const fs::path& path) {
  return !path.empty() && path.is_relative() &&
         std::ranges::none_of(path, [](const fs::path& part) { return part == ".."; });
}

std::string line_of(const std::string& hash, const std::string& path) {
  return fmt::format("{}  {}\n", hash, path);
}

/// The SHA-256 of SHA256SUMS that COMPLETE holds. Throws UsageError when it holds something else.
std::string sealed_hash(const fs::path& folder) {
  const fs::path path = folder / kCompleteFile;
  const std::string text = read_file(path);
  std::string hash = text.substr(0, kHashLength);
  if (!is_hash(hash) || text != line_of(hash, kSumsFile)) {
    fail<UsageError>("{}:1: not the SHA-256 of {}", path.string(), kSumsFile);
  }
  return hash;
}

/// Whether the file is there as recorded.
void check_file(const std::string& path, const std::string& hash,
                const std::map<std::string, std::string>& present, HashCheck& check) {
  const auto found = present.find(path);
  if (found == present.end()) {
    check.differences.push_back(path + ": missing");
  } else if (found->second != hash) {
    check.differences.push_back(path + ": changed");
  }
}

void check_seal(const fs::path& folder, const Manifest& manifest,
                const std::map<std::string, std::string>& present, HashCheck& check) {
  if (!fs::is_regular_file(folder / kSumsFile)) {
    check.differences.push_back(fmt::format("{}: missing", kSumsFile));
    return;
  }
  std::map<std::string, std::string> sums;
  try {
    if (sha256_of_file(folder / kSumsFile) != sealed_hash(folder)) {
      check.differences.push_back(fmt::format("{}: changed", kSumsFile));
    }
    sums = read_sums(folder);
  } catch (const UsageError& error) {
    check.differences.emplace_back(error.what());
  }
  for (const auto& [path, hash] : sums) {
    check_file(path, hash, present, check);
    const auto recorded = manifest.files.find(path);
    const bool agrees = recorded != manifest.files.end() && recorded->second == hash;
    if (path != kManifest && !agrees) {
      check.differences.push_back(fmt::format("{}: manifest.json has another hash", path));
    }
  }
  for (const auto& [path, hash] : present) {
    if (!sums.contains(path)) check.differences.push_back(path + ": not part of the run");
  }
}

/// Whether a benchmark by itself wrote the folder, with --out: it calls the study by its own name.
bool is_of_one_benchmark(const Manifest& manifest) {
  return manifest.launches.size() == 1 && manifest.launches.front().program == manifest.study;
}

/// Of a run without a seal.
void check_manifest(const Manifest& manifest, const std::map<std::string, std::string>& present,
                    HashCheck& check) {
  check.notes.push_back(
      fmt::format("{} is not there: {}; its files are compared with the manifest", kCompleteFile,
                  is_of_one_benchmark(manifest) ? "a benchmark by itself makes none"
                                                : "the run has not ended"));
  if (manifest.finished_utc.empty()) {
    check.notes.emplace_back("the run has not ended: its manifest has no hashes yet");
    return;
  }
  for (const auto& [path, hash] : manifest.files) check_file(path, hash, present, check);
  std::set<std::string> beside;
  for (const auto& [path, hash] : present) {
    if (manifest.files.contains(path) || path == kManifest) continue;
    const fs::path first = *fs::path(path).begin();
    if (first == path || first == "launches") {
      check.differences.push_back(path + ": not part of the run");
    } else {
      beside.insert(first.string() + "/");
    }
  }
  for (const std::string& other : beside) {
    check.notes.push_back(other + " is not part of the run and is not looked at");
  }
}

void check_inputs(const Manifest& manifest, const std::map<std::string, std::string>& present,
                  HashCheck& check) {
  for (const auto& [path, hash] : manifest.inputs) {
    const auto found = present.find(path);
    if (found == present.end() || found->second != hash) {
      check.differences.push_back(path + ": not what the run began with");
    }
  }
}

}  // namespace

HashCheck check_hashes(const fs::path& folder, const Manifest& manifest) {
  HashCheck check;
  std::map<std::string, std::string> present = file_hashes(folder);
  check.manifest_sha256 = present[kManifest] = sha256_of_file(folder / kManifest);
  check.files = present.size();
  for (const std::string& link : links_in(folder)) {
    check.differences.push_back(link + ": a link, which is not followed");
  }
  if (is_sealed(folder)) {
    check_seal(folder, manifest, present, check);
  } else {
    check_manifest(manifest, present, check);
  }
  check_inputs(manifest, present, check);
  return check;
}

bool is_sealed(const fs::path& folder) { return fs::exists(folder / kCompleteFile); }

void require_not_sealed(const fs::path& folder) {
  if (!is_sealed(folder)) return;
  fail<UsageError>("'{}' is complete: nothing is written into it any more", folder.string());
}

void seal_folder(const fs::path& folder, const std::map<std::string, std::string>& files) {
  std::map<std::string, std::string> all = files;
  all[kManifest] = sha256_of_file(folder / kManifest);
  std::string sums;
  for (const auto& [path, hash] : all) {
    // sha256sum writes such names in a way of its own; no program of ours makes one.
    if (path.find_first_of("\\\n\r") != std::string::npos) {
      fail("'{}' has a file with a line break or a backslash in its name", folder.string());
    }
    sums += line_of(hash, path);
  }
  write_file_atomically(folder / kSumsFile, sums);
  write_file_atomically(folder / kCompleteFile, line_of(sha256_of(sums), kSumsFile));
}

std::map<std::string, std::string> read_sums(const fs::path& folder) {
  const fs::path file = folder / kSumsFile;
  std::istringstream lines(read_file(file));
  std::map<std::string, std::string> sums;
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const std::string hash = line.substr(0, kHashLength);
    const bool whole = is_hash(hash) && line.substr(kHashLength).starts_with("  ");
    if (!whole) fail<UsageError>("{}:{}: not a line of sha256sum", file.string(), number);
    const std::string path = line.substr(kHashLength + 2);
    if (!stays_inside(path)) {
      fail<UsageError>("{}:{}: '{}' leads out of the run's folder", file.string(), number, path);
    }
    if (!sums.emplace(path, hash).second) {
      fail<UsageError>("{}:{}: '{}' is there twice", file.string(), number, path);
    }
  }
  return sums;
}

std::string key_hash_of(const Environment& environment) {
  return sha256_of(
      json_of(environment.key).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

}  // namespace scalebench
