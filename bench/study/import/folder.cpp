// SPDX-License-Identifier: Apache-2.0
#include "bench/study/import/folder.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "bench/cli/console.hpp"
#include "bench/cli/quantity.hpp"
#include "bench/record/csv.hpp"
#include "bench/record/file.hpp"
#include "bench/record/seal.hpp"
#include "bench/study/analysis/cells.hpp"
#include "bench/study/analysis/scaling.hpp"

namespace scalebench {
namespace {

/// A file at once: nothing is measured meanwhile, so no row can be lost.
void write(const std::filesystem::path& folder, const Schema& schema,
           const std::vector<const PackedRows*>& parts) {
  std::string text = csv_line(schema.columns);
  const std::size_t header = text.size();
  for (const PackedRows* const rows : parts) {
    for (std::size_t i = 0; i < rows->size(); ++i) {
      const std::string line = csv_line((*rows)[i].cells());
      // Growing by itself, a text of 60 MB stands there twice.
      if (i == 0) text.reserve(text.size() + rows->size() * line.size() * 5 / 4);
      text += line;
    }
  }
  if (text.size() > header) write_file_atomically(folder / schema.file, text);
}

/// Rows with a speedup; an import seldom has an epoch on one device beside the others.
std::vector<ResultRow> with_a_base(const std::vector<ResultRow>& epochs) {
  std::vector<ResultRow> rows = scaling_rows(epochs);
  const bool any = std::ranges::any_of(
      rows, [](const ResultRow& row) { return !row.get("efficiency").empty(); });
  return any ? rows : std::vector<ResultRow>();
}

}  // namespace

void write_import(const ResultsFolder& folder, const ImportedRows& rows, const Schema& schema,
                  const Manifest& manifest) {
  write_manifest(folder.path(), manifest);
  std::vector<const PackedRows*> samples;
  for (std::size_t i = 0; i < rows.launches.size(); ++i) {
    const ImportedLaunchRows& launch = rows.launches[i];
    write(folder.make_launch(launch.launch, plain_name(manifest.launches.at(i).note)), schema,
          {&launch.cases});
    samples.push_back(&launch.samples);
  }
  write(folder.path(), samples_schema(), samples);
  write(folder.path(), schema, {&rows.cases});
  if (schema.file == epoch_schema().file) {
    const PackedRows scaling(with_a_base(rows.cases.unpacked()));
    write(folder.path(), scaling_schema(), {&scaling});
  }
  const PackedRows accuracies(rows.accuracies);
  write(folder.path(), accuracy_schema(), {&accuracies});
  const Manifest whole = updated(manifest, folder.path(), "complete");
  write_manifest(folder.path(), whole);
  seal_folder(folder.path(), whole.files);
}

std::string plain_name(const std::string& name) {
  std::string plain;
  for (const char c : name.substr(0, 48)) {
    const bool upper = c >= 'A' && c <= 'Z';
    const bool kept = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
                      (c == '.' && !plain.empty());
    plain += upper ? static_cast<char>(c - 'A' + 'a') : kept ? c : '-';
  }
  return plain.empty() ? "file" : plain;
}

namespace {

constexpr std::size_t kShown = 40;

/// The rate that belongs to a case: "12.31 GB/s busbw", "2470.0 images/s"; empty without one.
std::string rate_of(const ResultRow& row) {
  const auto rate = [&](std::string_view column, int digits, std::string_view unit) {
    const std::string cell = text_in(row, column);
    return cell.empty() ? "" : fmt::format("{} {}", scaled(cell, 1, digits), unit);
  };
  return rate("busbw_gb_per_s", 3, "GB/s busbw") + rate("images_per_s", 1, "images/s") +
         rate("gb_per_s", 3, "GB/s");
}

std::string line(const ResultRow& row) {
  const std::string label = printable(label_of(row));
  if (row.get("status") != "ok") {
    return fmt::format("{:<64} {}: {}\n", label, row.get("status"), printable(row.get("note")));
  }
  return fmt::format("{:<64} {:>13} {:>22} {:>8} {:>8}\n", label,
                     scaled(row.get("seconds_median"), 1e3, 4), rate_of(row), row.get("launches"),
                     row.get("repetitions"));
}

}  // namespace

std::string import_table(const PackedRows& rows) {
  std::string table = fmt::format("{:<64} {:>13} {:>22} {:>8} {:>8}\n", "case", "median (ms)",
                                  "rate", "launches", "values");
  for (std::size_t i = 0; i < rows.size() && i < kShown; ++i) table += line(rows[i]);
  if (rows.size() > kShown) {
    table += fmt::format("... and {} more in {}\n", rows.size() - kShown, rows[0].schema().file);
  }
  return table;
}

}  // namespace scalebench
