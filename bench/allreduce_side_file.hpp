// SPDX-License-Identifier: Apache-2.0
// A result file that a program writes beside its case file.
#pragma once

#include <filesystem>
#include <optional>

#include "bench/recorder.hpp"

namespace scalebench {

class SideFile {
 public:
  /// In the folder of `options`, which the Recorder has made; no-op on other ranks than the first
  /// and without --out.
  SideFile(const Ranks& ranks, const RecordOptions& options, const Schema& schema) {
    if (!ranks.first() || options.out.empty()) return;
    file_.emplace(std::filesystem::path(options.out) / schema.file, schema.columns);
  }
  void write(const ResultRow& row) {
    if (file_) file_->append(row.cells());
  }

 private:
  std::optional<CsvWriter> file_;
};

}  // namespace scalebench
