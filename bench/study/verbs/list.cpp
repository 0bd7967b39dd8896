// SPDX-License-Identifier: Apache-2.0
// scalebench list [KIND]: what there is to choose from, and the runs that were made.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "bench/cli/command_line.hpp"
#include "bench/cli/console.hpp"
#include "bench/program/transports.hpp"
#include "bench/record/csv.hpp"
#include "bench/record/result_row.hpp"
#include "bench/study/analysis/cells.hpp"
#include "bench/study/import/kinds.hpp"
#include "bench/study/import/presets.hpp"
#include "bench/study/run/setup.hpp"
#include "bench/study/verbs/verb.hpp"
#include "collectives/allreduce.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct ListOptions {
  std::string kind;  // empty: all that this build knows by itself
  fs::path results = "results";
  bool as_json = false;
};

/// Columns, and a row of as many cells for each thing: texts, numbers, null for nothing.
struct Listing {
  std::vector<std::string> columns;
  std::vector<std::vector<json>> rows{};
  std::vector<std::string> remarks{};        // what could not be read, one line each
  std::vector<std::string_view> in_brief{};  // columns of the table; empty: all. JSON has all
};

/// Null for what is none, as "nan" or nothing.
json number_or_null(const std::string& text) {
  json value = json::parse(text, nullptr, /*allow_exceptions=*/false);
  return value.is_number() ? value : json();
}

std::string cell_text(const json& cell) {
  if (cell.is_null()) return "";
  return cell.is_string() ? cell.get<std::string>() : cell.dump();
}

/// What a run was imported from: "a.log", "a.log and 2 more".
std::string files_of(const ImportRecord& record) {
  if (record.files.empty()) return "";
  const std::string first = fs::path(record.files.front().name).filename().string();
  const std::size_t more = record.files.size() - 1;
  return more > 0 ? fmt::format("{} and {} more", first, more) : first;
}

/// As much of a run as can be read.
std::vector<json> run_row(const fs::path& folder, Listing& listing) {
  std::vector<json> row(listing.columns.size());
  row[0] = folder.filename().string();
  row[3] = "damaged";
  try {
    const Manifest manifest = read_manifest(folder);
    row[0] = manifest.run_id;
    row[1] = manifest.import ? fmt::format("import {}", manifest.import->kind) : manifest.study;
    row[2] = manifest.started_utc;
    row[3] = manifest.status;
    row[4] = manifest.origin;
    row[7] = manifest.launches.size();
    if (manifest.import) row[8] = files_of(*manifest.import);
    const std::vector<Cell> cells = cells_of(read_stored_run(folder, WithSamples::no));
    row[5] = cells.size();
    row[6] = std::ranges::count_if(cells, &Cell::measured);
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
  Listing listing{{"name", "parameters", "input", "classes", "batch", "optimizer", "purpose"}};
#define MODEL(name, parameters, channels, height, width, classes, batch, optimizer, rate, purpose) \
  listing.rows.push_back({#name, parameters, fmt::format("{}x{}x{}", channels, height, width),     \
                          classes, batch, #optimizer, purpose});
#include "models/network/models.def"
#undef MODEL
  return listing;
}

Listing list_gradient_syncs() {
  Listing listing{{"name", "equal_replicas", "purpose"}};
#define GRADIENT_SYNC(name, equal, mean, overlaps, sends, workers, told, purpose) \
  listing.rows.push_back({#name, equal, purpose});
#include "models/gradients/gradient_sync.def"
#undef GRADIENT_SYNC
  return listing;
}

Listing list_algorithms() {
  constexpr double kRanks = 8;
  Listing listing{{"name", "steps_of_8_ranks", "sizes_sent_by_8_ranks", "purpose"}};
  for (const AllreduceAlgorithm& algorithm : allreduce_algorithms()) {
    const AllreduceCost cost = algorithm.cost(kRanks, 1, kRanks, Reach::windows);
    listing.rows.push_back({algorithm.name, number_or_null(fmt::format("{:g}", cost.steps)),
                            number_or_null(fmt::format("{:g}", cost.sent)), algorithm.purpose});
  }
  return listing;
}

Listing list_transports() {
  Listing listing{{"name", "needs"}};
  for (const TransportNeed& transport : transport_needs()) {
    listing.rows.push_back({transport.name, transport.needs});
  }
  return listing;
}

Listing list_presets() {
  Listing listing{{"name", "reads", "asks_for"}};
  for (const Preset& preset : read_presets(configs_folder() / "presets.toml")) {
    listing.rows.push_back({preset.name, preset.reads, preset.needs});
  }
  return listing;
}

/// A catalog as it is in its file. A column is one of numbers where nothing else stands in it.
Listing list_catalog(const fs::path& file, std::vector<std::string_view> in_brief) {
  const CsvTable table = CsvTable::read(file);
  Listing listing{table.columns(), {}, {}, std::move(in_brief)};
  listing.rows.resize(table.size());
  for (const std::string& column : table.columns()) {
    std::vector<std::string> cells;
    for (std::size_t row = 0; row < table.size(); ++row) cells.push_back(table.text(row, column));
    const bool numbers = std::ranges::all_of(cells, [](const std::string& cell) {
      return cell.empty() || number_or_null(cell).is_number();
    });
    for (std::size_t row = 0; row < table.size(); ++row) {
      const bool as_number = numbers || cells[row].empty();
      listing.rows[row].push_back(as_number ? number_or_null(cells[row]) : json(cells[row]));
    }
  }
  if (table.torn()) listing.remarks.push_back(file.string() + ": its last line is cut short");
  return listing;
}

/// The runs in a folder, oldest first; folders without a manifest are no runs. Of a run that cannot
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
    if (fs::exists(entry.path() / "manifest.json")) folders.push_back(entry.path());
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
    for (const auto& row : listing.rows) width = std::max(width, characters_in(cell_text(row[i])));
    widths.push_back(width);
  }
  const auto line = [&] {
    return std::accumulate(widths.begin(), widths.end(), kBetween * (widths.size() - 1));
  };
  while (line() > kLine && widths.size() > 1) {
    --*std::max_element(widths.begin() + 1, widths.end());
  }
  const auto cells = [&](const std::vector<json>& row) {
    std::vector<std::string> shortened;
    for (std::size_t i = 0; i < shown.size(); ++i) {
      std::string cell = printable(cell_text(row[shown[i]]));
      if (characters_in(cell) > widths[i]) cell = fmt::format("{}…", cut(cell, widths[i] - 1));
      shortened.push_back(std::move(cell));
    }
    return joined(shortened, widths);
  };
  std::string text = cells(std::vector<json>(listing.columns.begin(), listing.columns.end()));
  for (const auto& row : listing.rows) text += cells(row);
  return text;
}

constexpr std::array<std::string_view, 8> kListKinds{
    "models",  "gradient-syncs", "algorithms", "transports",
    "presets", "instances",      "published",  "runs"};

Listing listing_of(std::string_view kind, const ListOptions& options) {
  if (kind == "models") return list_models();
  if (kind == "gradient-syncs") return list_gradient_syncs();
  if (kind == "algorithms") return list_algorithms();
  if (kind == "transports") return list_transports();
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

json json_of(const Listing& listing) {
  json things(listing.rows.size(), json::object());
  for (std::size_t k = 0; k < listing.rows.size(); ++k) {
    for (std::size_t i = 0; i < listing.columns.size(); ++i) {
      things[k][listing.columns[i]] = listing.rows[k][i];
    }
  }
  return things;
}

ExitCode list_things(const ListOptions& options) {
  Console console(/*speaks=*/true, /*quiet=*/false);
  std::vector<std::string_view> kinds{kListKinds.begin(), kListKinds.begin() + 4};
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
  offer(verb.add_option("kind", options.kind,
                        "models, gradient-syncs, algorithms, transports, presets (of import log), "
                        "instances, published or runs; without it, the first four"),
        kListKinds);
  add_shown(verb, "--results", options.results, "folder of the runs")->type_name("DIR");
  add_format_option(verb, options.as_json);
}

}  // namespace scalebench
