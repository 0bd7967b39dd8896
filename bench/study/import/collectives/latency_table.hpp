// SPDX-License-Identifier: Apache-2.0
// osu_allreduce of the OSU Micro-Benchmarks (3 to 7.5, with or without -f) and Allreduce of the
// Intel MPI Benchmarks. A time is each rank's mean over iterations, then the mean over ranks; the
// range over ranks is the skew. No bandwidth stands beside it, so the title has to say what it is.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/study/import/imported_case.hpp"

namespace scalebench {

class LatencyTable {
 public:
  LatencyTable(const std::string& file, const Settings& settings, ImportedFile& result)
      : file_(file), settings_(settings), result_(result) {}

  /// Whether a table of another benchmark, or of this once more, begins with the line.
  bool begins(const ForeignLine& line);
  /// A line of the table that has begun; `is_cut`: within which the file ends. Whether it is one.
  bool line(const ForeignLine& line, bool is_cut);
  /// What was read becomes a launch.
  void end();
  bool is_open() const { return is_open_; }

 private:
  bool head(const std::vector<std::string_view>& words);
  bool row(const ForeignLine& line, bool is_cut);
  ResultRow described(std::string_view bytes) const;

  const std::string& file_;
  const Settings& settings_;
  ImportedFile& result_;
  ImportedLaunch launch_;
  std::string program_;                     // "osu_allreduce", "IMB-MPI1 Allreduce"
  std::vector<std::string> columns_;        // behind the size: avg, min, max, other
  std::string memory_, dtype_, transport_;  // empty: not said
  std::optional<int> ranks_;
  bool is_open_ = false;
  bool is_other_ = false;  // of another collective
};

}  // namespace scalebench
