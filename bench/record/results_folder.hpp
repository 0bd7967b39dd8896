// SPDX-License-Identifier: Apache-2.0
// The folder that belongs to one run. Whether it can hold the run (writable, enough room, nobody
// else's) is found before anything is measured, and every refusal is a UsageError that names the
// path, the reason and the remedy.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

namespace scalebench {

class ResultsFolder {
 public:
  /// Makes `parent/<YYYYMMDDTHHMMSSZ>-<study>-<6 hex digits>/`, always a new one, and `parent` if
  /// need be. `study` consists of [a-z0-9._-]. `bytes_needed` must be free.
  static ResultsFolder create(const std::filesystem::path& parent, std::string_view study,
                              std::uintmax_t bytes_needed);

  /// The folder that the user names with --out: made when it is not there; refused when another run
  /// has left its manifest or a CSV in it.
  static ResultsFolder at(const std::filesystem::path& folder, std::uintmax_t bytes_needed);

  /// A run that is there already, to go on with it. Throws UsageError unless `folder` is one.
  static ResultsFolder of_run(const std::filesystem::path& folder);

  const std::filesystem::path& path() const { return path_; }
  /// Last component of the path.
  std::string run_id() const { return path_.filename().string(); }
  /// Makes `launches/<NNN>-<name>/`, always a new one. `name` consists of [a-z0-9._-].
  std::filesystem::path make_launch(int number, std::string_view name) const;

 private:
  explicit ResultsFolder(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

/// Throws UsageError unless a file can be written in `folder`, which exists, and `bytes_needed` are
/// free there.
void require_room(const std::filesystem::path& folder, std::uintmax_t bytes_needed);

}  // namespace scalebench
