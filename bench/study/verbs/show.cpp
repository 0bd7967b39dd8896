// SPDX-License-Identifier: Apache-2.0
// scalebench show RUN: what run printed at its end, or the rows themselves, for a page (markdown)
// or a program (json, csv). Nothing is written.
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "bench/cli/command_line.hpp"
#include "bench/cli/console.hpp"
#include "bench/cli/quantity.hpp"
#include "bench/record/manifest.hpp"
#include "bench/record/result_row.hpp"
#include "bench/study/analysis/cells.hpp"
#include "bench/study/analysis/stored_run.hpp"
#include "bench/study/run/result_text.hpp"
#include "bench/study/verbs/verb.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

constexpr std::array<std::string_view, 4> kShowFormats{"table", "markdown", "json", "csv"};

struct ShowOptions {
  std::filesystem::path run;
  std::string format = "table";
};

/// A file of results, and its columns that a page has room for.
struct ShownFile {
  const Schema& schema;
  std::vector<std::string_view> in_brief;
};

/// The first that a run has is what it was for.
std::vector<ShownFile> shown_files() {
  return {
      {summary_schema(),
       {"model", "strategy", "scaling", "ranks", "h_seconds", "ideal_seconds", "measured_seconds",
        "speedup", "efficiency", "lost_seconds", "largest_loss", "largest_loss_seconds", "trust"}},
      {epoch_schema(), {"model", "gradient_sync", "scaling", "ranks", "seconds"}},
      {throughput_schema(), {"model", "batch", "ranks", "rank", "images_per_s"}},
      {allreduce_schema(),
       {"algorithm", "transport", "dtype", "size_bytes", "ranks", "seconds_median",
        "busbw_gb_per_s", "native_ratio", "native_verdict"}},
      {kernels_schema(), {"kernel", "device", "dtype", "bytes", "seconds_median", "gb_per_s"}}};
}

/// In four digits where it is a number; a text as a page shows it.
std::string short_cell(const ResultRow& row, std::string_view column) {
  const std::string& cell = row.get(column);
  const bool text = row.schema().columns.is_text(row.schema().columns.place_of(column));
  if (text || cell.find('.') == std::string::npos) return markdown(cell);
  return fmt::format("{:.4g}", number_in(row, column));
}

/// "1.68 [1.63, 1.72]" where the file has an interval beside the column.
std::string cell_and_interval(const ResultRow& row, std::string_view column) {
  std::string low = fmt::format("{}_ci_low", column), high = fmt::format("{}_ci_high", column);
  if (column == "seconds_median") low = "seconds_ci_low", high = "seconds_ci_high";
  const std::string cell = short_cell(row, column);
  if (text_in(row, low).empty()) return cell;
  return fmt::format("{} [{}, {}]", cell, short_cell(row, low), short_cell(row, high));
}

/// Those of the file in which a row has something, behind them what else tells its rows apart, why
/// some have no result, and what was done to some on purpose.
std::vector<std::string_view> columns_of(const ShownFile& file,
                                         const std::vector<ResultRow>& rows) {
  std::vector<std::string_view> columns = file.in_brief;
  std::erase_if(columns, [&](std::string_view column) {
    return std::ranges::all_of(rows, [&](const ResultRow& row) { return row.get(column).empty(); });
  });
  std::vector<std::string_view> more = parameter_columns();
  const auto failed = [](const ResultRow& row) {
    return row.schema().has("status") && row.get("status") != "ok";
  };
  const auto has_more = [&](const auto& row) { return failed(row) || !injected_in(row).empty(); };
  if (std::ranges::any_of(rows, failed)) more.emplace_back("status");
  if (std::ranges::any_of(rows, has_more)) more.emplace_back("note");
  for (const std::string_view column : more) {
    const auto cell = [&](const ResultRow& row) { return text_in(row, column); };
    const auto differs = [&](const ResultRow& row) { return cell(row) != cell(rows.front()); };
    const bool there = std::ranges::find(columns, column) != columns.end();
    const bool says = std::ranges::any_of(rows, differs) || column == "status" || column == "note";
    if (!there && says) columns.push_back(column);
  }
  return columns;
}

std::string markdown_of(const ShownFile& file, const std::vector<ResultRow>& rows) {
  const std::vector<std::string_view> columns = columns_of(file, rows);
  std::string head, rule;
  for (const std::string_view column : columns) {
    head += fmt::format("| {} ", column);
    rule += "|---";
  }
  std::string text = head + "|\n" + rule + "|\n";
  for (const ResultRow& row : rows) {
    for (const std::string_view column : columns) {
      text += fmt::format("| {} ", cell_and_interval(row, column));
    }
    text += "|\n";
  }
  return text;
}

std::string json_text(const ShowOptions& options, const std::vector<ResultRow>& rows) {
  nlohmann::json list = nlohmann::json::array();
  for (const ResultRow& row : rows) list.emplace_back(json_of(row));
  return document({{"run", options.run.string()},
                   {"file", rows.front().schema().file},
                   {"rows", std::move(list)}});
}

ExitCode show_run(const ShowOptions& options) {
  require_known("format", options.format, kShowFormats);
  const Manifest manifest = read_manifest(options.run);  // refuses what is no run
  Console console(/*speaks=*/true, /*quiet=*/true);
  if (manifest.status != "complete") {
    console.warn(fmt::format("{} is {}: not all of it was measured", options.run.string(),
                             printable(manifest.status)));
  }
  const auto rows_of = [&](const Schema& schema) {
    bool torn = false;
    std::vector<ResultRow> rows = rows_in(options.run, schema, &torn);
    if (torn) console.warn(torn_text(options.run / schema.file), "scalebench verify");
    return rows;
  };
  if (options.format == "table") {
    const std::string text = result_text(
        rows_of(summary_schema()),
        {rows_of(throughput_schema()), rows_of(allreduce_schema()), rows_of(kernels_schema())});
    if (!text.empty()) {
      console.result(text);
      return ExitCode::ok;
    }
  }
  for (const ShownFile& file : shown_files()) {
    const std::vector<ResultRow> rows = rows_of(file.schema);
    if (rows.empty()) continue;
    console.result(options.format == "json"  ? json_text(options, rows)
                   : options.format == "csv" ? csv_text(file.schema, rows)
                                             : markdown_of(file, rows));
    return ExitCode::ok;
  }
  fail<UsageError>(
      "{} has no results to show: it holds none of summary.csv, epoch.csv, throughput.csv, "
      "allreduce.csv and kernels.csv",
      options.run.string());
}

}  // namespace

void add_show(CLI::App& verb, Invocation& invocation) {
  auto& options = options_of<ShowOptions>(verb, invocation, show_run);
  takes_runs(verb.add_option("run", options.run,
                             "folder of a run, or of one benchmark's --out (not bench_kernels)"))
      ->required();
  offer(add_shown(verb, "--format", options.format,
                  "table, as run ends; markdown; or json and csv with every column"),
        kShowFormats);
}

}  // namespace scalebench
