// SPDX-License-Identifier: Apache-2.0
// The kinds of files that can be imported: one table, from which names, help and readers come.
// Another kind is a file with its reader and a line of that table.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/record/result_row.hpp"
#include "bench/study/import/foreign_text.hpp"

namespace scalebench {

/// What a user says of how files are to be read, beside --set.
struct ImportGuide {
  std::string map;                   // csv
  std::string bench = "epoch";       // log
  std::vector<std::string> metrics;  // log
};

/// How files of one kind are read, once what belongs to it has been checked.
struct ImportReading {
  const Schema* schema = nullptr;  // of the case file that their rows become
  std::string config;              // what decided, for the manifest
  std::function<ImportedFile(const std::string& path, const Settings&)> read;
};

std::vector<std::string_view> import_kinds();

/// "nccl-tests (text or JSON), osu, ...".
std::string import_kinds_help();

/// Throws UsageError for an unknown kind, for what it lacks, and for what belongs to another one.
ImportReading import_reading(const std::string& kind, const ImportGuide& guide);

}  // namespace scalebench
