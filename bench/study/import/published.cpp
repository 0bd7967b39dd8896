// SPDX-License-Identifier: Apache-2.0
// Rows of configs/published.csv as cases of ours. What follows from other rows there (a speedup) is
// made again here, and nothing is taken for known that is not printed: no batch, no size.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "bench/record/csv.hpp"
#include "bench/study/analysis/stored_run.hpp"
#include "bench/study/import/epochs.hpp"
#include "bench/study/import/kinds.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

struct PublishedBench {
  std::string_view name;
  const Schema& (*schema)();
  std::vector<std::string_view> columns;  // any of which makes a row one of these
};

/// In the order in which they are preferred.
const std::vector<PublishedBench>& published_benches() {
  static const std::vector<PublishedBench> kBenches{
      {"epoch", epoch_schema, {"seconds_per_epoch"}},
      {"throughput", throughput_schema, {"images_per_s", "images_per_s_per_gpu"}},
      {"allreduce", allreduce_schema, {"busbw_gb_per_s"}}};
  return kBenches;
}

bool holds(const CsvTable& table, std::size_t row, const PublishedBench& bench) {
  return std::ranges::any_of(bench.columns,
                             [&](auto column) { return !table.text(row, column).empty(); });
}

/// Whether the row can be one of that file; images a second make epochs, too.
bool fits(const CsvTable& table, std::size_t row, const Schema& schema) {
  const bool epochs = schema.file == epoch_schema().file;
  return std::ranges::any_of(published_benches(), [&](const PublishedBench& bench) {
    const bool wanted = bench.schema().file == schema.file;
    return (wanted || (epochs && bench.name == "throughput")) && holds(table, row, bench);
  });
}

/// Rows of the name of which the best kind is taken: epochs that are printed rather than made.
std::vector<std::size_t> rows_for(const CsvTable& table, const std::string& name,
                                  const Schema& schema) {
  std::vector<std::size_t> rows;
  bool printed = false;
  for (std::size_t row = 0; row < table.size(); ++row) {
    if (table.text(row, "name") != name || !fits(table, row, schema)) continue;
    rows.push_back(row);
    printed |= !table.text(row, "seconds_per_epoch").empty();
  }
  if (printed && schema.file == epoch_schema().file) {
    std::erase_if(rows, [&](auto row) { return table.text(row, "seconds_per_epoch").empty(); });
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

/// Images a second of all ranks.
double rate_in(const CsvTable& table, std::size_t row, const ResultRow& one) {
  const double of_all = table.number(row, "images_per_s");
  const double each = table.number(row, "images_per_s_per_gpu");
  return std::isnan(of_all) ? each * number_in(one, "ranks") : of_all;
}

void set_rate_alone(const CsvTable& table, std::size_t row, ResultRow& one) {
  one.set("images_per_s", rate_in(table, row, one));
  one.add_note("no time: no batch is published");
}

/// Its time, as printed or as it follows; nothing where that takes what is not there.
std::optional<double> seconds_in(const CsvTable& table, std::size_t row, const ResultRow& one) {
  if (one.schema().file == allreduce_schema().file) {
    return seconds_behind(one, "busbw_gb_per_s", table.number(row, "busbw_gb_per_s"));
  }
  const double printed = table.number(row, "seconds_per_epoch");
  if (one.schema().file == epoch_schema().file && printed > 0) return printed;
  return seconds_behind(one, "images_per_s", rate_in(table, row, one));
}

}  // namespace

void require_published(const std::filesystem::path& catalog, const std::string& name) {
  require_known_name(CsvTable::read(catalog), name);
}

const Schema& published_schema(const std::filesystem::path& catalog, const std::string& name,
                               const std::string& bench) {
  const CsvTable table = CsvTable::read(catalog);
  require_known_name(table, name);
  for (const PublishedBench& one : published_benches()) {
    const Schema& schema = one.schema();
    if (!bench.empty() && bench != one.name) continue;
    for (std::size_t row = 0; row < table.size(); ++row) {
      const bool wanted = bench.empty() ? holds(table, row, one) : fits(table, row, schema);
      if (table.text(row, "name") == name && wanted) return schema;
    }
  }
  fail<UsageError>("{}: nothing{} is published of it that could be a time", name,
                   bench.empty() ? "" : " for --bench " + bench);
}

ImportedFile read_published(const std::filesystem::path& catalog, const std::string& name,
                            const Schema& schema, const Settings& settings) {
  const CsvTable table = CsvTable::read(catalog);
  ImportedFile file;
  ImportedLaunch launch;
  std::set<std::string> sources, dates;
  bool without_batch = false;
  const bool epochs = schema.file == epoch_schema().file;
  const std::string_view needed = epochs ? "samples" : "size_bytes";
  for (const std::size_t row : rows_for(table, name, schema)) {
    ImportedCase one = case_of(table, row, schema, settings, name);
    const std::optional<double> seconds = seconds_in(table, row, one.row);
    if (!seconds && schema.file == throughput_schema().file) {
      set_rate_alone(table, row, one.row);
      without_batch = true;
    } else if (!seconds) {
      file.findings.push_back(
          {table.line(row), fmt::format("N = {}: no time without {}; add --set {}=...",
                                        table.text(row, "gpus"), needed, needed)});
      continue;
    }
    if (seconds) one.seconds = {*seconds};
    sources.insert(table.text(row, "source"));
    if (!table.text(row, "date").empty()) dates.insert(table.text(row, "date"));
    file.conditions = table.text(row, "conditions");
    launch.cases.push_back(one);
  }
  if (without_batch) {
    file.remarks.push_back(fmt::format(
        "{}: images a second without a batch give no time of a step; add --set batch=..., or make "
        "epochs with --bench epoch --set samples=...",
        name));
  }
  if (!launch.cases.empty()) file.launches.push_back(std::move(launch));
  file.source = fmt::format("{}", fmt::join(sources, "; "));
  file.date = fmt::format("{}", fmt::join(dates, "; "));
  return file;
}

}  // namespace scalebench
