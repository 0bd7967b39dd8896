// SPDX-License-Identifier: Apache-2.0
#include "bench/study/import/imported_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "bench/measure/statistics.hpp"
#include "bench/record/columns.hpp"
#include "bench/record/csv.hpp"
#include "bench/record/file.hpp"
#include "bench/record/seal.hpp"
#include "bench/study/analysis/cells.hpp"
#include "bench/study/analysis/legs.hpp"
#include "bench/study/analysis/tables.hpp"
#include "kernels/dtype.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

std::vector<std::string_view> required(const Schema& schema) {
  if (schema.file == allreduce_schema().file) return {"ranks", "size_bytes"};
  return {"ranks", "model"};
}

/// The places of the columns in which rows with equal ids agree: all but N and what follows from
/// it.
std::vector<std::size_t> columns_of_the_case(const Schema& schema) {
  const std::vector<std::string_view> varying = words_of(
      "note ranks nodes parameters first_call_seconds slowest_rank "
      "test_accuracy epochs_to_target relative_to_one_rank last_rank joules");
  std::vector<std::size_t> places;
  for (const std::string_view column : describing_columns(schema)) {
    const bool varies = column.ends_with("_seconds") || std::ranges::count(varying, column) > 0;
    if (!varies) places.push_back(schema.columns.place_of(column));
  }
  return places;
}

std::string canonical(const ResultRow& row, const std::vector<std::size_t>& places) {
  const std::string scaling = text_in(row, "scaling");
  std::string text(row.schema().bench());
  for (const std::size_t place : places) {
    const std::string &column = row.schema().columns[place], &value = row.cells()[place];
    const bool follows = (column == "batch" && scaling == "strong") ||
                         (column == "global_batch" && scaling == "weak");
    if (!follows && !value.empty()) text += ' ' + column + '=' + value;
  }
  return text;
}

/// What follows from other columns, where the file does not say it.
void complete(ResultRow& row, const ImportIdentity& identity,
              const std::vector<std::size_t>& columns) {
  if (row.schema().has("rank")) row.set("rank", "all");
  row.set("run_id", identity.run_id);
  row.set("case_id", case_id(canonical(row, columns))).set("origin", identity.origin);
  if (row.get("status").empty()) row.set("status", "ok");
}

ResultRow sample_of(const ResultRow& row, int launch, std::size_t repetition, double seconds) {
  ResultRow sample(samples_schema());
  for (const std::string_view column : {"run_id", "case_id", "origin"}) {
    sample.set(column, row.get(column));
  }
  sample.set("bench", row.schema().bench()).set("launch", launch).set("repetition", repetition);
  sample.set("ranks", text_in(row, "ranks")).set("seconds", seconds);
  sample.set("bytes", text_in(row, "size_bytes")).set("samples", text_in(row, "samples"));
  return sample;
}

/// The cases of one launch, equal ones together.
class LaunchCases {
 public:
  LaunchCases(const NumberedLaunch& launch, const Schema& schema)
      : schema_(schema), columns_(columns_of_the_case(schema)) {
    rows_.launch = launch.number;
    rows_.round = launch.round > 0 ? launch.round : launch.number;
  }

  void add(ImportedCase one, const std::string& file, const ImportIdentity& identity) {
    ResultRow& row = one.row;
    complete(row, identity, columns_);
    const std::string key = fmt::format("{}/{}", row.get("case_id"), row.get("ranks"));
    const auto [found, is_new] = place_of_.emplace(key, rows_.cases.size());
    if (is_new) {
      rows_.cases.push_back(row);
      seconds_.emplace_back();
    } else {
      const std::string there = text_in(rows_.cases[found->second], "nodes");
      if (there != text_in(row, "nodes")) {
        fail<UsageError>(
            "{}: launch {} has {} ranks on {} nodes and on {}; number them apart, in "
            "a CSV file by a column for launch",
            file, rows_.launch, row.get("ranks"), there, text_in(row, "nodes"));
      }
      // One bad value voids the case.
      if (row.get("status") != "ok") rows_.cases[found->second] = row;
    }
    std::vector<double>& seconds = seconds_[found->second];
    for (std::size_t i = 0; i < one.seconds.size(); ++i) {
      ResultRow& sample =
          rows_.samples.emplace_back(sample_of(row, rows_.launch, seconds.size(), one.seconds[i]));
      seconds.push_back(one.seconds[i]);
      if (!one.accuracies.empty()) sample.set("test_accuracy", one.accuracies[i]);
    }
  }

  LaunchRows with_statistics() && {
    for (std::size_t i = 0; i < seconds_.size(); ++i) {
      if (seconds_[i].empty() || !is_training(schema_)) continue;
      ResultRow& row = rows_.cases[i];
      const double median = median_of(seconds_[i]);
      row.set(time_column(schema_), median);
      if (schema_.has("images_per_s")) {
        row.set("images_per_s", number_in(row, "batch") * number_in(row, "ranks") / median);
      }
    }
    rows_.cases = rows_of(cells_of({rows_}));
    return std::move(rows_);
  }

 private:
  const Schema& schema_;
  std::vector<std::size_t> columns_;  // of the case
  LaunchRows rows_;
  std::vector<std::vector<double>> seconds_;  // of each of rows_.cases
  std::unordered_map<std::string, std::size_t> place_of_;
};

}  // namespace

void require_cases(const std::vector<NumberedLaunch>& launches) {
  for (const NumberedLaunch& launch : launches) {
    for (const ImportedCase& one : launch.launch.cases) {
      std::string missing, settings;
      for (const std::string_view column : required(one.row.schema())) {
        const std::string& value = one.row.get(column);
        if (!value.empty()) {
          require_value(launch.file, column, value);
          continue;
        }
        settings += fmt::format(" --set {}=...", column);
        missing += fmt::format("{}{}", missing.empty() ? "" : " and ", column);
      }
      if (missing.empty()) continue;
      fail<UsageError>("{}: {} {} not in it; add{}", launch.file, missing,
                       missing.find(' ') == std::string::npos ? "is" : "are", settings);
    }
  }
}

ImportedRows imported_rows(const std::vector<NumberedLaunch>& launches, const Schema& schema,
                           const ImportIdentity& identity) {
  std::map<int, LaunchCases> by_number;
  ImportedRows rows;
  for (const NumberedLaunch& launch : launches) {
    LaunchCases& cases = by_number.try_emplace(launch.number, launch, schema).first->second;
    for (const ImportedCase& one : launch.launch.cases) {
      cases.add(one, launch.file, identity);
    }
  }
  for (auto& [number, cases] : by_number) {
    rows.launches.push_back(std::move(cases).with_statistics());
  }
  rows.cases = rows_of(cells_of(rows.launches));
  return rows;
}

void write_import(const std::filesystem::path& run, const ImportedRows& rows, const Schema& schema,
                  Manifest manifest) {
  write_manifest(run, manifest);
  write_launch_rows(run, rows.launches);
  replace_rows(run, schema, rows.cases);
  if (schema.file == epoch_schema().file) {
    StudyTables tables;
    put_answers(tables, imported_legs(cells_of(rows.launches)));
    for (const auto& [file, answers] : tables) {
      const Schema& its = answers.front().schema();
      replace_rows(run, its, answers);
    }
  }
  manifest = updated(std::move(manifest), run, "complete");
  write_manifest(run, manifest);
  seal_folder(run, manifest.files);
}

std::string why_no_speedup(const ImportedRows& imported) {
  const ResultRow *one = nullptr, *several = nullptr;
  for (const ResultRow& row : imported.cases) {
    if (row.schema().file != epoch_schema().file || row.get("status") != "ok") continue;
    (row.get("ranks") == "1" ? one : several) = &row;
  }
  const bool is_expected = one != nullptr && several != nullptr;
  if (!is_expected || !imported_legs(cells_of(imported.launches)).empty()) return "";
  std::vector<std::string_view> columns = differences(*several, *one);
  if (several->get("samples").empty()) columns.push_back("samples");
  std::string why = fmt::format("no speedup of 1 and {} ranks:", several->get("ranks"));
  for (const std::string_view column : columns) {
    why += fmt::format(" {} is '{}' and '{}',", column, one->get(column), several->get(column));
  }
  if (one->get("gradient_sync") != "one_device") {
    why += " name H with --set gradient_sync=one_device,";
  }
  return why + " and --set says what files do not: samples=..., scaling=strong (one global batch)";
}

}  // namespace scalebench
