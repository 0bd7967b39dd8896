// SPDX-License-Identifier: Apache-2.0
#include "bench/study/import/kinds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "bench/record/file.hpp"
#include "bench/study/import/google_benchmark.hpp"
#include "bench/study/import/log_metrics.hpp"
#include "bench/study/import/mapped_csv.hpp"
#include "bench/study/import/nccl_tests.hpp"
#include "bench/study/import/osu.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

/// A text that says by itself what it is.
template <auto reader, auto schema>
ImportReading by_text(const ImportGuide&) {
  return {&schema(), "", [](const std::string& path, const Settings& settings) {
            return reader(read_file(path), path, settings);
          }};
}

ImportReading by_map(const ImportGuide& guide) {
  const auto map = std::make_shared<const CsvMap>(read_csv_map(guide.map));
  return {map->schema, map->text, [map](const std::string& path, const Settings& settings) {
            return read_mapped_csv(path, *map, settings);
          }};
}

ImportReading by_metrics(const ImportGuide& guide) {
  const Schema& schema = schema_of_bench(guide.bench);
  return {&schema, "",
          [&schema, metrics = parse_metrics(guide.metrics, schema)](const std::string& path,
                                                                    const Settings& settings) {
            return read_log(read_file(path), path, schema, metrics, settings);
          }};
}

struct ImportKind {
  std::string_view name;
  std::string_view more;  // for the help, behind the name
  ImportReading (*reading)(const ImportGuide&);
};

constexpr ImportKind kKinds[]{
    {"nccl-tests", " (text or JSON)", by_text<read_nccl_tests, allreduce_schema>},
    {"osu", "", by_text<read_osu, allreduce_schema>},
    {"csv", "", by_map},
    {"log", "", by_metrics},
    {"google-benchmark", "", by_text<read_google_benchmark, kernels_schema>},
};

}  // namespace

std::vector<std::string_view> import_kinds() {
  std::vector<std::string_view> names;
  for (const ImportKind& kind : kKinds) names.push_back(kind.name);
  return names;
}

std::string import_kinds_help() {
  std::string help;
  for (const ImportKind& kind : kKinds) {
    help += fmt::format("{}{}{}", help.empty() ? "" : ", ", kind.name, kind.more);
  }
  return help;
}

ImportReading import_reading(const std::string& kind, const ImportGuide& guide) {
  const auto found = std::ranges::find(kKinds, kind, &ImportKind::name);
  if (found == std::end(kKinds)) {
    throw UsageError(unknown_name("kind", kind, import_kinds()));
  }
  const bool csv = found->reading == by_map, log = found->reading == by_metrics;
  if (csv && guide.map.empty()) {
    fail<UsageError>("csv: which column is what? add --map FILE.toml");
  }
  if (log && guide.metrics.empty()) {
    fail<UsageError>("log: what is to be found? add --metric column=expression");
  }
  if (!csv && !guide.map.empty()) fail<UsageError>("--map belongs to csv alone");
  if (!log && !guide.metrics.empty()) fail<UsageError>("--metric belongs to log alone");
  return found->reading(guide);
}

}  // namespace scalebench
