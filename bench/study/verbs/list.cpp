// SPDX-License-Identifier: Apache-2.0
// scalebench list [KIND]: what there is to choose from, and the runs that were made.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "bench/cli/command_line.hpp"
#include "bench/cli/console.hpp"
#include "bench/program/transports.hpp"
#include "bench/record/csv.hpp"
#include "bench/record/result_row.hpp"
#include "bench/record/results_folder.hpp"
#include "bench/study/analysis/cells.hpp"
#include "bench/study/import/kinds.hpp"
#include "bench/study/run/setup.hpp"
#include "bench/study/verbs/verb.hpp"
#include "collectives/allreduce.hpp"
#include "kernels/dtype.hpp"
#include "kernels/error.hpp"
#include "kernels/read_number.hpp"

namespace scalebench {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct ListOptions {
  std::string kind;  // empty: all that this build knows by itself
  fs::path results = "results";
  bool as_json = false;
};

/// Columns, and a row of as many cells for each thing.
struct Listing {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> remarks{};        // what could not be read, one line each
  std::vector<std::string_view> in_brief{};  // columns of the table; empty: all. JSON has all
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
  std::vector<std::string> row{folder.filename().string(), "", "", "damaged", "", "", "", "", ""};
  try {
    const Manifest manifest = read_manifest(folder);
    row = {manifest.run_id,
           manifest.study,
           manifest.started_utc,
           manifest.status,
           manifest.origin,
           "",
           "",
           std::to_string(manifest.launches.size()),
           ""};
    if (manifest.import) {
      row[1] = fmt::format("import {}", manifest.import->kind);
      row[8] = files_of(*manifest.import);
    }
    const std::vector<Cell> cells = cells_of(read_stored_run(folder, WithSamples::no));
    row[5] = std::to_string(cells.size());
    row[6] = std::to_string(std::ranges::count_if(cells, &Cell::measured));
  } catch (const std::exception& error) {
    listing.remarks.push_back(printable(error.what()));
  }
  return row;
}

std::size_t characters_in(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](unsigned char c) { return (c & 0xC0U) != 0x80U; }));
}

/// Without blanks at its end.
std::string joined(const std::vector<std::string>& cells, const std::vector<std::size_t>& widths) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    line += cells[i] + std::string(widths[i] - characters_in(cells[i]) + 2, ' ');
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

Listing list_models() {
  Listing listing{
      {"name", "parameters", "input", "classes", "batch", "optimizer", "purpose"}, {}, {}};
#define MODEL(name, parameters, channels, height, width, classes, batch, optimizer, rate, purpose) \
  listing.rows.push_back({#name, #parameters, fmt::format("{}x{}x{}", channels, height, width),    \
                          #classes, #batch, #optimizer, purpose});
#include "models/network/models.def"
#undef MODEL
  return listing;
}

Listing list_gradient_syncs() {
  Listing listing{{"name", "equal_replicas", "purpose"}, {}, {}};
#define GRADIENT_SYNC(name, equal, mean, overlaps, sends, workers, told, purpose) \
  listing.rows.push_back({#name, #equal, purpose});
#include "models/gradients/gradient_sync.def"
#undef GRADIENT_SYNC
  return listing;
}

Listing list_algorithms() {
  constexpr double kRanks = 8;
  Listing listing{{"name", "steps_of_8_ranks", "sizes_sent_by_8_ranks", "purpose"}, {}, {}};
  for (const AllreduceAlgorithm& algorithm : allreduce_algorithms()) {
    const AllreduceCost cost = algorithm.cost(kRanks, 1, kRanks, Reach::windows);
    const auto number = [](double value) {
      return std::isnan(value) ? std::string() : fmt::format("{:g}", value);
    };
    listing.rows.push_back({std::string(algorithm.name), number(cost.steps), number(cost.sent),
                            std::string(algorithm.purpose)});
  }
  return listing;
}

Listing list_transports() {
  Listing listing{{"name", "needs"}, {}, {}};
  for (const TransportNeed& transport : transport_needs()) {
    listing.rows.push_back({std::string(transport.name), std::string(transport.needs)});
  }
  return listing;
}

Listing list_dtypes() {
  Listing listing{{"name", "bytes"}, {}, {}};
  for (const DType dtype : kDTypes) {
    listing.rows.push_back({std::string(name_of(dtype)), std::to_string(size_of(dtype))});
  }
  return listing;
}

Listing list_presets() {
  Listing listing{{"name", "reads", "asks_for"}, {}};
  for (const PresetSummary& preset : preset_summaries()) {
    listing.rows.push_back(
        {std::string(preset.name), std::string(preset.reads), std::string(preset.needs)});
  }
  return listing;
}

/// A catalog as it is in its file.
Listing list_catalog(const fs::path& file, std::vector<std::string_view> in_brief) {
  const CsvTable table = CsvTable::read(file);
  Listing listing{table.columns(), {}, {}, std::move(in_brief)};
  for (std::size_t row = 0; row < table.size(); ++row) {
    std::vector<std::string>& cells = listing.rows.emplace_back();
    for (const std::string& column : table.columns()) cells.push_back(table.text(row, column));
  }
  if (table.torn()) listing.remarks.push_back(file.string() + ": its last line is cut short");
  return listing;
}

/// The runs in a folder, oldest first; folders without a manifest are no runs, nor those that one
/// has only taken. Of a run that cannot
/// be read (its status is `damaged`) or whose rows cannot, a remark says why; the cells are empty.
Listing list_runs(const fs::path& results) {
  Listing listing{
      {"run", "study", "started_utc", "status", "origin", "cells", "measured", "launches", "files"},
      {},
      {},
      {"run", "study", "status", "origin", "cells", "measured", "launches", "files"}};
  std::error_code error;
  std::vector<fs::path> folders;
  for (const fs::directory_entry& entry : fs::directory_iterator(results, error)) {
    const bool is_run = fs::exists(entry.path() / "manifest.json");
    if (is_run && !is_only_taken(entry.path())) folders.push_back(entry.path());
  }
  if (error) fail<UsageError>("{}: {}", results.string(), error.message());
  // A folder's name begins with the time.
  std::ranges::sort(folders);
  for (const fs::path& folder : folders) listing.rows.push_back(run_row(folder, listing));
  return listing;
}

/// The columns of its table, by their places.
std::vector<std::size_t> shown_of(const Listing& listing) {
  std::vector<std::size_t> shown;
  for (std::size_t i = 0; i < listing.columns.size(); ++i) {
    const auto& brief = listing.in_brief;
    const bool wanted = std::ranges::find(brief, listing.columns[i]) != brief.end();
    if (brief.empty() || wanted) shown.push_back(i);
  }
  return shown;
}

/// For a terminal: aligned columns on lines that fit; what is cut ends with "…". Names, which stand
/// first and are typed again, are whole.
std::string table_of(const Listing& listing) {
  constexpr std::size_t kLine = 120, kBetween = 2;
  const std::vector<std::size_t> shown = shown_of(listing);
  std::vector<std::size_t> widths;
  for (const std::size_t i : shown) {
    std::size_t width = characters_in(listing.columns[i]);
    for (const auto& row : listing.rows) width = std::max(width, characters_in(row[i]));
    widths.push_back(width);
  }
  const auto line = [&] {
    return std::accumulate(widths.begin(), widths.end(), kBetween * (widths.size() - 1));
  };
  while (line() > kLine && widths.size() > 1) {
    --*std::max_element(widths.begin() + 1, widths.end());
  }
  const auto cells = [&](const std::vector<std::string>& row) {
    std::vector<std::string> shortened;
    for (std::size_t i = 0; i < shown.size(); ++i) {
      std::string cell = printable(row[shown[i]]);
      if (characters_in(cell) > widths[i]) cell = fmt::format("{}…", cut(cell, widths[i] - 1));
      shortened.push_back(std::move(cell));
    }
    return joined(shortened, widths);
  };
  std::string text = cells(listing.columns);
  for (const auto& row : listing.rows) text += cells(row);
  return text;
}

constexpr std::array<std::string_view, 9> kListKinds{"models",     "gradient-syncs", "algorithms",
                                                     "transports", "dtypes",         "presets",
                                                     "instances",  "published",      "runs"};

Listing listing_of(std::string_view kind, const ListOptions& options) {
  if (kind == "models") return list_models();
  if (kind == "gradient-syncs") return list_gradient_syncs();
  if (kind == "algorithms") return list_algorithms();
  if (kind == "transports") return list_transports();
  if (kind == "dtypes") return list_dtypes();
  if (kind == "presets") return list_presets();
  if (kind == "runs") return list_runs(options.results);
  std::vector<std::string_view> in_brief;
  if (kind == "published") {
    in_brief = {"name", "model", "device", "gpus", "printed", "kind", "source"};
  } else {
    in_brief = {"name",       "gpu_model", "gpus", "network_gbps", "usd_per_hour_on_demand",
                "price_date", "region"};
  }
  return list_catalog(configs_folder() / fmt::format("{}.csv", kind), std::move(in_brief));
}

/// Numbers as numbers, nothing as null.
json json_of(const std::string& cell) {
  if (cell.empty()) return nullptr;
  if (cell == "true" || cell == "false") return cell == "true";
  const auto number = read_number<double>(cell);
  if (!number || !std::isfinite(*number)) return cell;
  const bool whole = cell.find_first_not_of("0123456789") == std::string::npos;
  return whole && cell.size() < 16 ? json(std::stoll(cell)) : json(*number);
}

/// What somebody has named is text, also where it looks like a number, and so is all of a column
/// that has other text.
bool is_text(const Listing& listing, std::size_t i) {
  constexpr std::array<std::string_view, 4> kNames{"run", "name", "study", "files"};
  return std::ranges::count(kNames, listing.columns[i]) > 0 ||
         std::ranges::any_of(listing.rows,
                             [&](const auto& row) { return json_of(row[i]).is_string(); });
}

json json_of(const Listing& listing) {
  json things(listing.rows.size(), json::object());
  for (std::size_t i = 0; i < listing.columns.size(); ++i) {
    const bool text = is_text(listing, i);
    for (std::size_t k = 0; k < listing.rows.size(); ++k) {
      const std::string& cell = listing.rows[k][i];
      things[k][listing.columns[i]] = text && !cell.empty() ? json(cell) : json_of(cell);
    }
  }
  return things;
}

ExitCode list_things(const ListOptions& options) {
  Console console(/*speaks=*/true, /*quiet=*/false);
  std::vector<std::string_view> kinds{kListKinds.begin(), kListKinds.begin() + 5};
  if (!options.kind.empty()) {
    require_known("kind", options.kind, kListKinds);
    kinds = {options.kind};
  }
  json body = json::object();
  std::string text;
  for (const std::string_view kind : kinds) {
    const Listing listing = listing_of(kind, options);
    for (const std::string& remark : listing.remarks) console.warn(remark);
    body[std::string(kind)] = json_of(listing);
    if (kinds.size() > 1) text += fmt::format("{}# {}\n", text.empty() ? "" : "\n", kind);
    text += table_of(listing);
  }
  console.result(options.as_json ? document(std::move(body)) : text);
  return ExitCode::ok;
}

}  // namespace

void add_list(CLI::App& verb, Invocation& invocation) {
  auto& options = options_of<ListOptions>(verb, invocation, list_things);
  offer(
      verb.add_option("kind", options.kind,
                      "models, gradient-syncs, algorithms, transports, dtypes, presets (of import "
                      "log), instances, published or runs; without it, the first five"),
      kListKinds);
  add_shown(verb, "--results", options.results, "folder of the runs")->type_name("DIR");
  add_format_option(verb, options.as_json);
}

}  // namespace scalebench
