// SPDX-License-Identifier: Apache-2.0
#include "bench/record/file_hashes.hpp"

#include "bench/record/file.hpp"
#include "bench/record/folder_lock.hpp"
#include "bench/record/seal.hpp"
#include "bench/record/sha256.hpp"
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

std::vector<std::string> file_differences(const fs::path& folder,
                                          const std::map<std::string, std::string>& recorded) {
  const std::map<std::string, std::string> present = file_hashes(folder);
  std::vector<std::string> differences;
  for (const auto& [name, hash] : recorded) {
    const auto found = present.find(name);
    if (found == present.end()) differences.push_back(name + ": missing");
    if (found != present.end() && found->second != hash) differences.push_back(name + ": changed");
  }
  for (const auto& [name, hash] : present) {
    if (!recorded.contains(name)) differences.push_back(name + ": not in the manifest");
  }
  return differences;
}

}  // namespace scalebench
