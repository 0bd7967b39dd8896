// SPDX-License-Identifier: Apache-2.0
#include "bench/record/run_index.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <tuple>

#include "bench/record/file.hpp"
#include "bench/record/folder_lock.hpp"
#include "bench/record/manifest.hpp"
#include "bench/record/result_row.hpp"
#include "bench/record/seal.hpp"
#include "bench/record/sha256.hpp"
#include "bench/record/utc_time.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// What is no index; one of a later version is one, and refused.
class Damaged : public Error {
 public:
  using Error::Error;
};

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

/// Throws json::exception for what line_of does not make, UsageError for a later version.
IndexEntry entry_of(const std::string& line) {
  const json object = json::parse(line);
  const int version = object.at("schema_version").get<int>();
  if (version > kSchemaVersion) {
    fail<UsageError>("schema version {} is later than {}, which this program reads", version,
                     kSchemaVersion);
  }
  IndexEntry entry;
  object.at("run_id").get_to(entry.run_id);
  object.at("study").get_to(entry.study);
  object.at("started_utc").get_to(entry.started_utc);
  object.at("status").get_to(entry.status);
  object.at("origin").get_to(entry.origin);
  if (!object.at("commit").is_null()) object.at("commit").get_to(entry.commit);
  object.at("key_hash").get_to(entry.key_hash);
  object.at("complete_sha256").get_to(entry.complete_sha256);
  return entry;
}

/// What the file says. Throws Damaged `file:line: what`.
std::vector<IndexEntry> lines_of(const fs::path& file) {
  const std::string text = read_file(file);
  if (!text.empty() && text.back() != '\n') {
    fail<Damaged>("{}: its last line is cut short", file.string());
  }
  std::istringstream lines(text);
  std::vector<IndexEntry> entries;
  for (std::string line; std::getline(lines, line);) {
    try {
      entries.push_back(entry_of(line));
    } catch (const json::exception&) {
      fail<Damaged>("{}:{}: not a line of an index", file.string(), entries.size() + 1);
    } catch (const UsageError& error) {
      fail<UsageError>("{}:{}: {}", file.string(), entries.size() + 1, error.what());
    }
  }
  return entries;
}

void sort(std::vector<IndexEntry>& entries) {
  std::ranges::sort(entries, {}, [](const IndexEntry& entry) {
    return std::tuple(entry.started_utc, entry.run_id);
  });
}

/// The sealed runs: name: what COMPLETE says.
std::map<std::string, std::string> sealed_runs(const fs::path& results,
                                               std::vector<std::string>& notes) {
  std::map<std::string, std::string> runs;
  for (const fs::directory_entry& entry : fs::directory_iterator(results)) {
    if (!entry.is_directory() || !is_sealed(entry.path())) continue;
    try {
      runs[entry.path().filename().string()] = sealed_hash(entry.path());
    } catch (const UsageError& error) {
      notes.push_back(fmt::format("left out: {}", error.what()));
    }
  }
  return runs;
}

std::map<std::string, std::string> runs_of(const std::vector<IndexEntry>& entries) {
  std::map<std::string, std::string> runs;
  for (const IndexEntry& entry : entries) runs[entry.run_id] = entry.complete_sha256;
  return runs;
}

RunIndex rebuilt(const fs::path& results) {
  RunIndex index;
  for (const auto& [name, hash] : sealed_runs(results, index.notes)) {
    try {
      index.entries.push_back(index_entry_of(results / name));
    } catch (const UsageError& error) {
      index.notes.push_back(fmt::format("left out: {}", error.what()));
    }
  }
  sort(index.entries);
  std::string text;
  for (const IndexEntry& entry : index.entries) text += line_of(entry);
  write_file_atomically(results / kIndexFile, text);
  return index;
}

void require_folder(const fs::path& results) {
  if (!fs::is_directory(results)) {
    fail<UsageError>("'{}' is no folder of results", results.string());
  }
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

RunIndex read_index(const fs::path& results) {
  require_folder(results);
  const FolderLock lock = FolderLock::wait_for(results);
  const fs::path path = results / kIndexFile;
  std::string why;
  RunIndex index;
  if (!fs::exists(path)) {
    why = fmt::format("{} was not there", path.string());
  } else {
    try {
      index.entries = lines_of(path);
      std::vector<std::string> notes;
      if (sealed_runs(results, notes) != runs_of(index.entries)) {
        why = fmt::format("{} did not name the runs that are there", path.string());
      }
      index.notes = std::move(notes);
    } catch (const Damaged& error) {
      const fs::path aside = fmt::format("{}.damaged-{}", path.string(), utc_name());
      fs::copy_file(path, aside, fs::copy_options::overwrite_existing);
      why = fmt::format("{}; kept as {}", error.what(), aside.string());
    }
  }
  if (why.empty()) {
    sort(index.entries);
    return index;
  }
  index = rebuilt(results);
  index.notes.insert(index.notes.begin(),
                     fmt::format("{}: made anew from {} runs", why, index.entries.size()));
  return index;
}

RunIndex rebuild_index(const fs::path& results) {
  require_folder(results);
  const FolderLock lock = FolderLock::wait_for(results);
  return rebuilt(results);
}

}  // namespace scalebench
