// SPDX-License-Identifier: Apache-2.0
// Where the rows of one start of a program go: to stdout in the format asked for, and with --out
// into a results folder, flushed row by row. Only rank 0 writes.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/cli/command_line.hpp"
#include "bench/machine/identity.hpp"
#include "bench/program/program.hpp"
#include "bench/record/csv.hpp"
#include "bench/record/result_row.hpp"

namespace scalebench {

struct Manifest;

struct RecordOptions {
  std::string out;     // folder; empty: write no files
  std::string run_id;  // set by a study, whose folder `out` then lies in
  int launch = 0;
  int round = 0;          // of the study
  bool places = false;    // --places, which run_program answers
  bool emulated = false;  // what is measured stands for something else; else ranks and cores say it
};
void add_record_options(CLI::App& app, RecordOptions& options);
/// Of these the words that a study adds, which no help shows: --run-id, --launch and --round.
void add_study_words(CLI::App& app, RecordOptions& options);

class Recorder {
 public:
  /// Collective. Rank 0 makes or checks the folder before anything is measured: UsageError when it
  /// cannot be written or holds another run. `command`: argv as typed.
  Recorder(const Ranks& ranks, const RecordOptions& options, const Schema& cases,
           std::vector<std::string> command, const LinkedLibraries& libraries);

  ~Recorder();

  /// A row of the case file / of a file beside it / of samples.csv with the columns that every row
  /// has filled in. `canonical` is the case's canonical parameters without the number of ranks.
  ResultRow case_row(std::string_view canonical) const;
  ResultRow side_row(const Schema& schema, std::string_view canonical) const;
  ResultRow sample_row(std::string_view canonical, std::string_view bench) const;

  /// The file of that schema in the folder, opened with its first use; as long as this lives. Null
  /// on other ranks and without --out.
  CsvWriter* file(const Schema& schema);
  /// Appends a row to the file of its schema, where there is one.
  void write(const ResultRow& row);
  /// The hosts at fault, for the manifest: rows of hosts.csv.
  void name_suspects(const std::vector<ResultRow>& hosts);
  /// After the last row: the manifest of a program that was not started by a study; a study learns
  /// that its launch has come to the end.
  void finish();

  const std::string& origin() const { return origin_; }
  /// Whether these ranks, as they run now, cannot all have a core of their own: what they measure
  /// is then the scheduler, and their rows must not pass for those of N devices.
  bool is_crowded() const { return is_crowded_; }

 private:
  CsvWriter& open(const Schema& schema);

  RecordOptions options_;
  const Schema& cases_;
  bool is_crowded_ = false;
  std::string origin_;
  int ranks_;
  std::map<const Schema*, CsvWriter> files_;  // empty: none are written
  std::unique_ptr<Manifest> manifest_;
  std::optional<std::filesystem::path> unfinished_;  // in a study's folder
};

/// json_of() in one line. Text that is no UTF-8 is replaced.
std::string json_line(const ResultRow& row);

}  // namespace scalebench
