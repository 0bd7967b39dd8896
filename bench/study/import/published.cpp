// SPDX-License-Identifier: Apache-2.0
// Rows of configs/published.csv as cases of ours. What follows from other rows there (a speedup) is
// made again here, and nothing is taken for known that is not printed: no batch, no size.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "bench/record/csv.hpp"
#include "bench/study/analysis/stored_run.hpp"
#include "bench/study/import/epochs.hpp"
#include "bench/study/import/kinds.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

struct PublishedBench {
  const Schema& (*schema)();
  std::string_view column;  // which a row of it has
  std::string_view ours;    // what its number is of
};

/// In the order in which they are preferred.
constexpr PublishedBench kBenches[]{{epoch_schema, "seconds_per_epoch", "seconds"},
                                    {throughput_schema, "images_per_s", "images_per_s"},
                                    {allreduce_schema, "busbw_gb_per_s", "busbw_gb_per_s"}};

/// What a row says of it, by all ranks together, also where the rate of one GPU is what is
/// published.
double number_of(const CsvTable& table, std::size_t row, const PublishedBench& bench) {
  const double number = table.number(row, bench.column);
  if (number > 0 || bench.column != "images_per_s") return number;
  return table.number(row, "images_per_s_per_gpu") * table.number(row, "gpus");
}

std::vector<std::size_t> rows_for(const CsvTable& table, const std::string& name,
                                  const PublishedBench& bench) {
  std::vector<std::size_t> rows;
  for (std::size_t row = 0; row < table.size(); ++row) {
    if (table.text(row, "name") == name && number_of(table, row, bench) > 0) rows.push_back(row);
  }
  return rows;
}

void require_known_name(const CsvTable& table, const std::string& name) {
  std::vector<std::string_view> known;
  for (std::size_t row = 0; row < table.size(); ++row) {
    const std::string& one = table.text(row, "name");
    if (std::ranges::find(known, one) == known.end()) known.push_back(one);
  }
  if (std::ranges::find(known, name) != known.end()) return;
  const std::string_view near = nearest_name(name, known);
  fail<UsageError>("unknown published result '{}'{}; `scalebench list published` shows them", name,
                   near.empty() ? "" : fmt::format(" (did you mean '{}'?)", near));
}

ImportedCase case_of(const CsvTable& table, std::size_t row, const Schema& schema,
                     const Settings& settings, const std::string& file) {
  ImportedCase one{ResultRow(schema), {}};
  const auto text = [&](std::string_view column) { return table.text(row, column); };
  ResultRow& result = one.row;
  result.set("ranks", text("gpus")).set("nodes", text("nodes"));
  if (is_training(schema)) {
    result.set("model", text("model")).set("device", text("device"));
    result.set("dtype", text("precision"));
  }
  if (schema.file == epoch_schema().file) result.set("dataset", text("dataset"));
  if (schema.file == throughput_schema().file) result.set("batch", text("batch"));
  if (schema.file == allreduce_schema().file) result.set("size_bytes", text("size_bytes"));
  const std::string date = text("date").empty() ? "not dated" : text("date");
  std::string note =
      fmt::format("{}: {}, {}: {}", text("kind"), text("source"), date, text("conditions"));
  if (!text("note").empty()) note += "; " + text("note");
  result.set("note", note);
  apply(settings, result, file);
  if (is_training(schema)) complete_training(result);
  return one;
}

}  // namespace

void require_published(const std::filesystem::path& catalog, const std::string& name) {
  require_known_name(CsvTable::read(catalog), name);
}

const Schema& published_schema(const std::filesystem::path& catalog, const std::string& name) {
  const CsvTable table = CsvTable::read(catalog);
  require_known_name(table, name);
  for (const PublishedBench& bench : kBenches) {
    if (!rows_for(table, name, bench).empty()) return bench.schema();
  }
  fail<UsageError>("{}: nothing is published of it that could be a time", name);
}

ImportedFile read_published(const std::filesystem::path& catalog, const std::string& name,
                            const Schema& schema, const Settings& settings) {
  const CsvTable table = CsvTable::read(catalog);
  ImportedFile file;
  ImportedLaunch launch;
  std::set<std::string> sources, dates;
  const auto bench = std::ranges::find(kBenches, schema.file,
                                       [](const PublishedBench& one) { return one.schema().file; });
  for (const std::size_t row : rows_for(table, name, *bench)) {
    ImportedCase one = case_of(table, row, schema, settings, name);
    const double number = number_of(table, row, *bench);
    try {
      const std::string place = fmt::format("N = {}", table.text(row, "gpus"));
      one.seconds = {seconds_behind(place, one.row, bench->ours, number)};
    } catch (const UsageError& error) {
      if (schema.file != throughput_schema().file) {
        file.findings.push_back({table.line(row), error.what()});
        continue;
      }
      one.row.set("images_per_s", number);
      one.row.add_note("no time: no batch is published");
    }
    sources.insert(table.text(row, "source"));
    if (!table.text(row, "date").empty()) dates.insert(table.text(row, "date"));
    file.conditions = table.text(row, "conditions");
    launch.cases.push_back(one);
  }
  const bool has_rate_alone = std::ranges::any_of(
      launch.cases, [](const ImportedCase& one) { return one.seconds.empty(); });
  if (has_rate_alone) {
    file.remarks.push_back(fmt::format(
        "{}: images a second without a batch give no time of a step; add --set batch=...", name));
  }
  if (!launch.cases.empty()) file.launches.push_back(std::move(launch));
  file.source = fmt::format("{}", fmt::join(sources, "; "));
  file.date = fmt::format("{}", fmt::join(dates, "; "));
  return file;
}

}  // namespace scalebench
