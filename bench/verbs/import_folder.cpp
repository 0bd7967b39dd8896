// SPDX-License-Identifier: Apache-2.0
#include "bench/verbs/import_folder.hpp"

#include <algorithm>

#include "bench/record/csv.hpp"
#include "bench/record/file.hpp"
#include "bench/record/seal.hpp"
#include "bench/study/scaling_rows.hpp"

namespace scalebench {
namespace {

/// A file at once: nothing is measured meanwhile, so no row can be lost.
void write(const std::filesystem::path& folder, const Schema& schema,
           const std::vector<ResultRow>& rows) {
  if (rows.empty()) return;
  std::vector<const std::vector<std::string>*> cells;
  for (const ResultRow& row : rows) cells.push_back(&row.cells());
  write_file_atomically(folder / schema.file, csv_text(schema.columns, cells));
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
  std::vector<ResultRow> samples;
  for (std::size_t i = 0; i < rows.launches.size(); ++i) {
    const LaunchRows& launch = rows.launches[i];
    write(folder.make_launch(launch.launch, plain_name(manifest.launches.at(i).note)), schema,
          launch.cases);
    samples.insert(samples.end(), launch.samples.begin(), launch.samples.end());
  }
  write(folder.path(), samples_schema(), samples);
  write(folder.path(), schema, rows.cases);
  if (schema.file == epoch_schema().file) {
    write(folder.path(), scaling_schema(), with_a_base(rows.cases));
  }
  write(folder.path(), accuracy_schema(), rows.accuracies);
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

}  // namespace scalebench
