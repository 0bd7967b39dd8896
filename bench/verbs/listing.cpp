// SPDX-License-Identifier: Apache-2.0
#include "bench/verbs/listing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/allreduce_transport.hpp"
#include "bench/cli/console.hpp"
#include "bench/record/csv.hpp"
#include "bench/study/cell.hpp"
#include "collectives/allreduce.hpp"
#include "kernels/dtype.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

namespace fs = std::filesystem;

/// Names of files and what a catalog says end up in a terminal.
std::string printable(std::string text) {
  std::ranges::replace_if(
      text, [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  return text;
}

/// As much of a run as can be read.
std::vector<std::string> run_row(const fs::path& folder, Listing& listing) {
  std::vector<std::string> row{folder.filename().string(), "", "", "damaged", "", "", "", ""};
  try {
    const Manifest manifest = read_manifest(folder);
    row = {manifest.run_id,
           manifest.study,
           manifest.started_utc,
           manifest.status,
           manifest.origin,
           "",
           "",
           std::to_string(manifest.launches.size())};
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
    const std::string cell(cut(printable(cells[i]), widths[i]));
    line += cell + std::string(widths[i] - characters_in(cell) + 2, ' ');
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

}  // namespace

Listing list_models() {
  Listing listing{
      {"name", "parameters", "input", "classes", "batch", "optimizer", "purpose"}, {}, {}};
#define MODEL(name, parameters, channels, height, width, classes, batch, optimizer, rate, purpose) \
  listing.rows.push_back({#name, #parameters, fmt::format("{}x{}x{}", channels, height, width),    \
                          #classes, #batch, #optimizer, purpose});
#include "models/models.def"
#undef MODEL
  return listing;
}

Listing list_gradient_syncs() {
  Listing listing{{"name", "equal_replicas", "purpose"}, {}, {}};
#define GRADIENT_SYNC(name, equal_replicas, purpose) \
  listing.rows.push_back({#name, #equal_replicas, purpose});
#include "models/gradient_sync.def"
#undef GRADIENT_SYNC
  return listing;
}

Listing list_algorithms() {
  constexpr double kRanks = 8;
  Listing listing{{"name", "steps_of_8_ranks", "sizes_sent_by_8_ranks", "purpose"}, {}, {}};
  for (const AllreduceAlgorithm& algorithm : allreduce_algorithms()) {
    const AllreduceCost cost = algorithm.cost(kRanks, 1, kRanks);
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

Listing list_catalog(const fs::path& file) {
  const CsvTable table = CsvTable::read(file);
  Listing listing{table.columns(), {}, {}};
  for (std::size_t row = 0; row < table.size(); ++row) {
    std::vector<std::string>& cells = listing.rows.emplace_back();
    for (const std::string& column : table.columns()) cells.push_back(table.text(row, column));
  }
  if (table.torn()) listing.remarks.push_back(file.string() + ": its last line is cut short");
  return listing;
}

Listing list_runs(const fs::path& results) {
  Listing listing{
      {"run", "study", "started_utc", "status", "origin", "cells", "measured", "launches"}, {}, {}};
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

std::string table_of(const Listing& listing) {
  constexpr std::size_t kWidest = 100;
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < listing.columns.size(); ++i) {
    std::size_t width = characters_in(listing.columns[i]);
    for (const auto& row : listing.rows) width = std::max(width, characters_in(row[i]));
    widths.push_back(std::min(width, kWidest));
  }
  std::string text = joined(listing.columns, widths);
  for (const auto& row : listing.rows) text += joined(row, widths);
  return text;
}

}  // namespace scalebench
