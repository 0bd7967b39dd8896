// SPDX-License-Identifier: Apache-2.0
#include "bench/record/seal.hpp"

#include <nlohmann/json.hpp>

#include "bench/machine/digest.hpp"
#include "bench/record/file.hpp"
#include "bench/record/result_row.hpp"
#include "bench/record/results_folder.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

namespace fs = std::filesystem;

constexpr const char* kManifest = "manifest.json";

bool belongs(const fs::path& relative) {
  const bool drawn =
      relative == "report.html" || relative == "report.md" || *relative.begin() == "figures";
  const bool seals = relative == kManifest || relative == kSumsFile || relative == kCompleteFile;
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

std::string line_of(const std::string& hash, const std::string& path) {
  return fmt::format("{}  {}\n", hash, path);
}

/// The text of SHA256SUMS.
std::string sums_of(std::map<std::string, std::string> files, const std::string& manifest_sha256) {
  files[kManifest] = manifest_sha256;
  std::string sums;
  for (const auto& [path, hash] : files) sums += line_of(hash, path);
  return sums;
}

/// What the seal says of SHA256SUMS, the manifest, and files that this does not have.
void check_seal(const fs::path& folder, const Manifest& manifest,
                const std::map<std::string, std::string>& present, HashCheck& check) {
  const fs::path file = folder / kSumsFile;
  const std::string sums = fs::exists(file) ? read_file(file) : "";
  if (read_file(folder / kCompleteFile) != line_of(sha256_of(sums), kSumsFile)) {
    check.differences.push_back(fmt::format("{}: changed", kSumsFile));
  } else if (sums != sums_of(manifest.files, check.manifest_sha256)) {
    check.differences.push_back(fmt::format("{}: changed", kManifest));
  }
  for (const auto& [path, hash] : present) {
    if (!manifest.files.contains(path)) check.differences.push_back(path + ": not part of the run");
  }
}

}  // namespace

HashCheck check_hashes(const fs::path& folder, const Manifest& manifest) {
  HashCheck check;
  const std::map<std::string, std::string> present = file_hashes(folder);
  check.manifest_sha256 = sha256_of_file(folder / kManifest);
  check.files = present.size() + 1;
  for (const auto& [path, hash] : manifest.files) {
    const auto found = present.find(path);
    if (found != present.end() && found->second == hash) continue;
    check.differences.push_back(path + (found == present.end() ? ": missing" : ": changed"));
  }
  for (const auto& [path, hash] : manifest.inputs) {
    const auto found = present.find(path);
    if (found != present.end() && found->second == hash) continue;
    check.differences.push_back(path + ": not what the run began with");
  }
  if (is_sealed(folder)) {
    check_seal(folder, manifest, present, check);
  } else if (fs::exists(folder / kSumsFile)) {
    check.differences.push_back(fmt::format("the seal {} is missing", kCompleteFile));
  } else {
    check.notes.push_back(fmt::format(
        "{} is not there: the run has not ended, or is a benchmark's own, which makes none; the "
        "files in its manifest were compared with that",
        kCompleteFile));
  }
  return check;
}

bool is_sealed(const fs::path& folder) { return fs::exists(folder / kCompleteFile); }

void require_not_sealed(const fs::path& folder) {
  if (!is_sealed(folder)) return;
  fail<UsageError>("'{}' is complete: nothing is written into it any more", folder.string());
}

void seal_folder(const fs::path& folder, const std::map<std::string, std::string>& files) {
  const std::string sums = sums_of(files, sha256_of_file(folder / kManifest));
  write_file_atomically(folder / kSumsFile, sums);
  write_file_atomically(folder / kCompleteFile, line_of(sha256_of(sums), kSumsFile));
}

std::string key_hash_of(const Environment& environment) {
  return sha256_of(
      json_of(environment.key).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

}  // namespace scalebench
