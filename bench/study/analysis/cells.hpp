// SPDX-License-Identifier: Apache-2.0
// A cell: one case on one number of ranks, over the launches of a run. Everything that is said of
// a run's measurements is said of its cells: tables, legs, comparisons, the night. The launch is
// the unit, so a cell's values are launch medians.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "bench/record/result_row.hpp"
#include "bench/study/analysis/stored_run.hpp"

namespace scalebench {

/// What a cell measures, which decides the smallest change that counts.
enum class CellFamily {
  latency,    // allreduce below 64 KiB
  bandwidth,  // allreduce from there on, kernels
  throughput,
  epoch,
};

/// What one launch says of a cell.
struct CellLaunch {
  int number = 0;
  int round = 0;
  ResultRow row;                  // as the launch wrote it
  std::vector<double> samples{};  // seconds of the repetitions behind it, where they were read

  bool ok() const;  // it measured a time
};

struct Cell {
  /// "allreduce/3f2a90b1c4d5/2": bench, case id, number of ranks; on several nodes ".../2x4"; where
  /// the run has the same measured, too, ".../emulated".
  std::string key;
  CellFamily family = CellFamily::bandwidth;
  ResultRow row;                // over its launches, as the run's tables have it
  std::vector<double> seconds;  // of each launch that measured it, in order of launches
  std::vector<int> rounds;      // of each of those
  std::string status = "ok";    // else the word of the launch that voids it (wrong, failed), or
                                // skipped when every launch skipped it
  std::string note;             // that launch's
  std::vector<CellLaunch> launches = {};

  bool measured() const { return status == "ok" && !seconds.empty(); }
  /// Of all ranks together, not of a single one of several.
  bool is_whole() const;
  /// The key without the origin.
  std::string_view case_key() const;
  std::map<int, double> seconds_by_round() const;
  /// A column of the launches that measured it; rounds in which it is empty are left out.
  std::map<int, double> by_round(std::string_view column) const;
};

/// The cells of these launches, which are of one case file, sorted by their parameters: each row
/// that a launch wrote is read here, once.
std::vector<Cell> cells_of(const std::vector<LaunchRows>& launches);

/// Whether times of this origin were taken by these programs: only those are tested. What is
/// imported, quoted or predicted is not.
bool is_measured_here(std::string_view origin);

/// All cells of a run, without those of single ranks.
std::vector<Cell> cells_of(const StoredRun& run);

/// One row over all launches of a cell, from its parameters: the median of the launches' medians
/// with its interval, of epochs and their parts the mean; extremes over all repetitions. Where no
/// samples were read, as its first launch wrote it. `launches` is not empty.
ResultRow over_launches(const std::vector<CellLaunch>& launches);

std::vector<ResultRow> rows_of(const std::vector<Cell>& cells);

/// Fills in `relative_to_one_rank` of cells of throughput.csv: their rate over that of as many
/// single ranks as they are of, with the interval of that ratio's rounds around it. Empty where
/// ranks share a core, and are emulated, but the single one is measured.
void relate_to_one_rank(std::vector<Cell>& cells);

/// What a row's note says was done to it on purpose, "injected: slower=0.1"; else empty.
std::string injected_in(const ResultRow& row);
/// The same of the first cell that has something; none: empty.
std::string injected_in(const std::vector<Cell>& cells);

/// For people: "allreduce ring shared_memory float 64 KiB N=2", "epoch mlp mirrored strong N=2x4"
/// on 2 nodes.
std::string label_of(const ResultRow& row);
/// "4", and "2x2" where ranks lie on several nodes (texts as in rows; an empty one is unknown).
std::string ranks_words(const std::string& ranks, const std::string& nodes);

/// Of each row the parameters in which it and the others of its name differ; none where no other
/// has it. `names`: one a row.
std::vector<std::vector<std::string_view>> differing_parameters(
    const std::vector<const ResultRow*>& rows, const std::vector<std::string>& names);

/// What tells each row from the others of its name, as words; of cases that no column tells apart,
/// the id: " adam samples 1000", " case 3f2a90b1c4d5".
std::vector<std::string> words_apart(const std::vector<const ResultRow*>& rows,
                                     const std::vector<std::string>& names);

/// The labels of rows that are shown together, in their order. Where several would share one, the
/// parameters in which they differ follow: "throughput resnet50 batch 64 N=1 channels_last graph".
std::vector<std::string> labels_of(const std::vector<const ResultRow*>& rows);
std::vector<std::string> labels_of(const std::vector<Cell>& cells);

// Which cells of two runs are the same case, when what they are compared over is itself a
// parameter: two devices, two transports, two algorithms. Case ids then differ; cells are joined by
// the other columns. (Parameters without a column, such as the seed, are then not looked at.)

/// The columns of any case file that tell its cases apart, but the number of ranks.
std::vector<std::string_view> parameter_columns();

/// What two rows have in common that may differ in nothing but the column `across`, nor in N.
std::string key_without(const ResultRow& row, std::string_view across);

/// Gives the cells keys made of their parameters without the column `across`. Throws UsageError,
/// saying how to choose, when two cells of the run then have one key, and for an unknown column.
void join_across(std::vector<Cell>& cells, const std::string& across);

/// Keeps the cells whose `column` is one of `values`; cells without that column stay out. Throws
/// UsageError for an unknown column.
void keep_where(std::vector<Cell>& cells, const std::string& column,
                const std::vector<std::string>& values);

/// What the column says where the rows differ: "device: V100 -> K520"; empty when they do not.
std::string difference_across(const ResultRow& a, const ResultRow& b, const std::string& across);

}  // namespace scalebench
