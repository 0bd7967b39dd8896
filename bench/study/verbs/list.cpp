// SPDX-License-Identifier: Apache-2.0
// scalebench list [KIND]: the runs that were made, and the catalogs to choose from.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "bench/cli/command_line.hpp"
#include "bench/cli/console.hpp"
#include "bench/record/csv.hpp"
#include "bench/record/result_row.hpp"
#include "bench/study/analysis/cells.hpp"
#include "bench/study/import/kinds.hpp"
#include "bench/study/import/presets.hpp"
#include "bench/study/run/setup.hpp"
#include "bench/study/verbs/verb.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

namespace fs = std::filesystem;

struct ListOptions {
  std::string kind = "runs";
  fs::path results = "results";
};

/// Columns, and a row of as many cells for each thing.
struct Listing {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows{};
  std::vector<std::string> remarks{};  // what could not be read, one line each
};

/// What a run was imported from: "a.log", "a.log and 2 more".
std::string files_of(const ImportRecord& record) {
  if (record.files.empty()) return "";
  const std::string first = fs::path(record.files.front().name).filename().string();
  const std::size_t more = record.files.size() - 1;
  return more > 0 ? fmt::format("{} and {} more", first, more) : first;
}

/// As much of a run as can be read.
std::vector<std::string> run_row(const fs::path& folder, Listing& listing) {
  std::vector<std::string> row(listing.columns.size());
  row[0] = folder.filename().string();
  row[2] = "damaged";
  try {
    const Manifest manifest = read_manifest(folder);
    row[0] = manifest.run_id;
    row[1] = manifest.import ? fmt::format("import {}", manifest.import->kind) : manifest.study;
    row[2] = manifest.status;
    row[3] = manifest.origin;
    row[6] = fmt::format("{}", manifest.launches.size());
    if (manifest.import) row[7] = files_of(*manifest.import);
    const std::vector<Cell> cells = cells_of(read_stored_run(folder, WithSamples::no));
    row[4] = fmt::format("{}", cells.size());
    row[5] = fmt::format("{}", std::ranges::count_if(cells, &Cell::measured));
  } catch (const std::exception& error) {
    listing.remarks.push_back(printable(error.what()));
  }
  return row;
}

/// Without blanks at its end.
std::string joined(const std::vector<std::string>& cells, const std::vector<std::size_t>& widths) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    line += cells[i] + std::string(widths[i] - characters(cells[i]) + 2, ' ');
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

Listing list_presets() {
  Listing listing{{"name", "reads", "asks_for"}};
  for (const Preset& preset : read_presets(configs_folder() / "presets.toml")) {
    listing.rows.push_back({preset.name, preset.reads, preset.needs});
  }
  return listing;
}

/// Of a catalog the columns that a terminal has room for; the others are in its file.
Listing list_catalog(const fs::path& file, std::vector<std::string> columns) {
  const CsvTable table = CsvTable::read(file);
  Listing listing{std::move(columns)};
  for (std::size_t row = 0; row < table.size(); ++row) {
    std::vector<std::string>& cells = listing.rows.emplace_back();
    for (const std::string& column : listing.columns) cells.push_back(table.text(row, column));
  }
  if (table.torn()) listing.remarks.push_back(file.string() + ": its last line is cut short");
  return listing;
}

/// The runs in a folder, oldest first; folders without a manifest are no runs. Of a run that cannot
/// be read (its status is `damaged`) or whose rows cannot, a remark says why; the cells are empty.
Listing list_runs(const fs::path& results) {
  Listing listing{{"run", "study", "status", "origin", "cells", "measured", "launches", "files"}};
  std::error_code error;
  std::vector<fs::path> folders;
  for (const fs::directory_entry& entry : fs::directory_iterator(results, error)) {
    if (fs::exists(entry.path() / "manifest.json")) folders.push_back(entry.path());
  }
  if (error) fail<UsageError>("{}: {}", results.string(), error.message());
  // A folder's name begins with the time.
  std::ranges::sort(folders);
  for (const fs::path& folder : folders) listing.rows.push_back(run_row(folder, listing));
  return listing;
}

/// For a terminal: aligned columns on lines that fit; what is cut ends with "…". Names, which stand
/// first and are typed again, are whole.
std::string table_of(const Listing& listing) {
  constexpr std::size_t kLine = 120, kBetween = 2;
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < listing.columns.size(); ++i) {
    std::size_t width = characters(listing.columns[i]);
    for (const auto& row : listing.rows) width = std::max(width, characters(row[i]));
    widths.push_back(width);
  }
  const auto line = [&] {
    return std::accumulate(widths.begin(), widths.end(), kBetween * (widths.size() - 1));
  };
  while (line() > kLine && widths.size() > 1) {
    --*std::max_element(widths.begin() + 1, widths.end());
  }
  const auto shortened = [&](std::vector<std::string> cells) {
    for (std::size_t i = 0; i < cells.size(); ++i) {
      cells[i] = printable(cells[i]);
      if (characters(cells[i]) <= widths[i]) continue;
      cells[i] = fmt::format("{}…", cut(cells[i], widths[i] - 1));
    }
    return joined(cells, widths);
  };
  std::string text = shortened(listing.columns);
  for (const auto& row : listing.rows) text += shortened(row);
  return text;
}

constexpr std::array<std::string_view, 4> kListKinds{"presets", "instances", "published", "runs"};

Listing listing_of(const ListOptions& options) {
  if (options.kind == "presets") return list_presets();
  if (options.kind == "runs") return list_runs(options.results);
  const fs::path file = configs_folder() / fmt::format("{}.csv", options.kind);
  if (options.kind == "published") {
    return list_catalog(file, {"name", "model", "device", "gpus", "printed", "kind", "source"});
  }
  return list_catalog(file, {"name", "gpu_model", "gpus", "network_gbps", "usd_per_hour_on_demand",
                             "price_date", "region"});
}

ExitCode list_things(const ListOptions& options) {
  Console console(/*speaks=*/true, /*quiet=*/false);
  require_known("kind", options.kind, kListKinds);
  const Listing listing = listing_of(options);
  for (const std::string& remark : listing.remarks) console.warn(remark);
  console.result(table_of(listing));
  return ExitCode::ok;
}

}  // namespace

void add_list(CLI::App& verb, Invocation& invocation) {
  auto& options = options_of<ListOptions>(verb, invocation, list_things);
  offer(add_shown(verb, "kind", options.kind,
                  "runs; presets of import log; instances; published results"),
        kListKinds);
  add_shown(verb, "--results", options.results, "folder of the runs")->type_name("DIR");
}

}  // namespace scalebench
