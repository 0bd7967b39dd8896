// SPDX-License-Identifier: Apache-2.0
#include "bench/record/run_index.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <tuple>

#include "bench/machine/digest.hpp"
#include "bench/record/file.hpp"
#include "bench/record/folder_lock.hpp"
#include "bench/record/manifest.hpp"
#include "bench/record/result_row.hpp"
#include "bench/record/seal.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string line_of(const IndexEntry& entry) {
  const json object{{"schema_version", kSchemaVersion},
                    {"run_id", entry.run_id},
                    {"study", entry.study},
                    {"started_utc", entry.started_utc},
                    {"status", entry.status},
                    {"origin", entry.origin},
                    {"commit", entry.commit.empty() ? json(nullptr) : json(entry.commit)},
                    {"key_hash", entry.key_hash},
                    {"complete_sha256", entry.complete_sha256}};
  return object.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string key_hash_of(const Environment& environment) {
  return sha256_of(json_of(environment.key).dump(-1, ' ', false, json::error_handler_t::replace));
}

IndexEntry index_entry_of(const fs::path& folder) {
  const Manifest manifest = read_manifest(folder);
  // The folder's name, which is what finds it, also where somebody has renamed it.
  const std::string name = fs::canonical(folder).filename().string();
  return {name,
          manifest.study,
          manifest.started_utc,
          manifest.status,
          manifest.origin,
          manifest.tool.commit.value_or(""),
          key_hash_of(manifest.environment),
          sealed_hash(folder)};
}

void append_to_index(const fs::path& results, const IndexEntry& entry) {
  const FolderLock lock = FolderLock::wait_for(results);
  const fs::path path = results / kIndexFile;
  const int file = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0) fail("cannot open '{}': {}", path.string(), std::strerror(errno));
  const std::string line = line_of(entry);
  const ssize_t written = ::write(file, line.data(), line.size());
  const bool done = written == static_cast<ssize_t>(line.size()) && ::fsync(file) == 0;
  const int reason = errno;
  ::close(file);
  if (!done) fail("cannot write to '{}': {}", path.string(), std::strerror(reason));
}

RunIndex rebuild_index(const fs::path& results) {
  if (!fs::is_directory(results)) {
    fail<UsageError>("'{}' is no folder of results", results.string());
  }
  const FolderLock lock = FolderLock::wait_for(results);
  RunIndex index;
  for (const fs::directory_entry& entry : fs::directory_iterator(results)) {
    if (!entry.is_directory() || !is_sealed(entry.path())) continue;
    try {
      index.entries.push_back(index_entry_of(entry.path()));
    } catch (const UsageError& error) {
      index.notes.push_back(fmt::format("left out: {}", error.what()));
    }
  }
  std::ranges::sort(index.entries, {}, [](const IndexEntry& entry) {
    return std::tie(entry.started_utc, entry.run_id);
  });
  std::ranges::sort(index.notes);
  std::string text;
  for (const IndexEntry& entry : index.entries) text += line_of(entry);
  write_file_atomically(results / kIndexFile, text);
  return index;
}

}  // namespace scalebench
