// SPDX-License-Identifier: Apache-2.0
#include "bench/study/import/kinds.hpp"

#include <fmt/format.h>
#include <re2/re2.h>
#include <utf8cpp/utf8.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>

#include "bench/cli/command_line.hpp"
#include "bench/record/file.hpp"
#include "kernels/error.hpp"

namespace scalebench {

namespace {

/// Windows' shells write UTF-16 into files; what is none of it is damaged.
std::string as_utf8(std::string text) {
  const bool little = text.starts_with("\xff\xfe");
  if (!little && !text.starts_with("\xfe\xff")) return text;
  std::u16string wide;
  for (std::size_t i = 2; i + 1 < text.size(); i += 2) {
    const auto low = static_cast<unsigned char>(text[little ? i : i + 1]);
    const auto high = static_cast<unsigned char>(text[little ? i + 1 : i]);
    wide.push_back(static_cast<char16_t>(high << 8U | low));
  }
  std::string plain;
  try {
    utf8::utf16to8(wide.begin(), wide.end(), std::back_inserter(plain));
  } catch (const utf8::exception&) {
    return text;
  }
  return plain;
}

/// Devices and pipes have no end, and what is larger is no table or log that somebody has read.
std::filesystem::path required(const std::filesystem::path& path) {
  constexpr std::uintmax_t kMostBytes = 50'000'000;
  if (!std::filesystem::exists(path)) return path;  // whose reader says so
  const bool is_file = std::filesystem::is_regular_file(path);
  const std::uintmax_t bytes = is_file ? std::filesystem::file_size(path) : 0;
  if (bytes > 0 && bytes <= kMostBytes) return path;
  fail<UsageError>("{}: {}; valid: a file of up to {} MB", path.string(),
                   !is_file     ? std::string("no file")
                   : bytes == 0 ? std::string("it is empty")
                                : fmt::format("{} MB", bytes / 1'000'000),
                   kMostBytes / 1'000'000);
}

}  // namespace

std::string read_foreign(const std::filesystem::path& path) {
  // ESC [, parameters, and a letter or another one of @ to ~.
  static const re2::RE2 kColour("\x1b\\[[ -?]*[@-~]", re2::RE2::Latin1);
  std::string text = as_utf8(read_file(required(path)));
  re2::RE2::GlobalReplace(&text, kColour, "");
  return text;
}

namespace {

/// A text that says by itself what it is.
template <auto reader, auto schema>
ImportReading by_text(const ImportGuide&) {
  return {&schema(), "", "", [](const std::string& path, const Settings& settings) {
            return reader(read_foreign(path), path, settings);
          }};
}

ImportReading by_map(const ImportGuide& guide) {
  const auto map = std::make_shared<const CsvMap>(read_csv_map(guide.map));
  return {map->schema, map->text, "", [map](const std::string& path, const Settings& settings) {
            return read_mapped_csv(required(path), *map, settings);
          }};
}

ImportReading by_preset(const ImportGuide& guide, const Schema& schema) {
  std::vector<Preset> presets = read_presets(guide.presets);
  row_named(presets, &Preset::name, "preset", guide.preset);
  if (!is_training(schema)) {
    fail<UsageError>("--preset {}: its values are of epoch or throughput, not of {}", guide.preset,
                     guide.bench);
  }
  return {&schema, "", "",
          [&schema, presets = std::move(presets), preset = guide.preset](const std::string& path,
                                                                         const Settings& settings) {
            return read_preset(read_foreign(path), path, schema, presets, preset, settings);
          }};
}

ImportReading by_lines(const ImportGuide& guide) {
  const Schema& schema = schema_of_bench(guide.bench.empty() ? "epoch" : guide.bench);
  if (!guide.preset.empty()) return by_preset(guide, schema);
  return {&schema, "", "",
          [&schema, metrics = parse_metrics(guide.metrics, schema)](const std::string& path,
                                                                    const Settings& settings) {
            return read_log(read_foreign(path), path, schema, metrics, settings);
          }};
}

ImportReading by_name(const ImportGuide& guide) {
  const Schema& schema = published_schema(guide.catalog, guide.name, guide.bench);
  return {&schema, "", guide.catalog.string(),
          [&schema, catalog = guide.catalog](const std::string& name, const Settings& settings) {
            return read_published(catalog, name, schema, settings);
          }};
}

struct ImportKind {
  std::string_view name;
  ImportReading (*reading)(const ImportGuide&);
};

constexpr ImportKind kKinds[]{
    {"nccl-tests", by_text<read_collectives, allreduce_schema>},
    {"osu", by_text<read_collectives, allreduce_schema>},
    {"imb", by_text<read_collectives, allreduce_schema>},
    {"csv", by_map},
    {"log", by_lines},
    {"published", by_name},
};

}  // namespace

std::vector<std::string_view> import_kinds() {
  std::vector<std::string_view> names;
  for (const ImportKind& kind : kKinds) names.push_back(kind.name);
  return names;
}

ImportReading import_reading(const std::string& kind, const ImportGuide& guide) {
  const auto reading = row_named(kKinds, &ImportKind::name, "kind", kind).reading;
  const bool csv = reading == by_map, log = reading == by_lines;
  if (csv && guide.map.empty()) {
    fail<UsageError>("csv: which column is what? add --map FILE.toml");
  }
  if (log && guide.metrics.empty() && guide.preset.empty()) {
    fail<UsageError>("log: what is to be found? add --preset NAME or --metric column=expression");
  }
  if (!guide.metrics.empty() && !guide.preset.empty()) {
    fail<UsageError>("--preset {} says what is to be found: leave --metric out, or --preset",
                     guide.preset);
  }
  if (!csv && !guide.map.empty()) fail<UsageError>("--map belongs to csv alone");
  if (!log && !guide.metrics.empty()) fail<UsageError>("--metric belongs to log alone");
  if (!log && !guide.preset.empty()) fail<UsageError>("--preset belongs to log alone");
  if (!log && reading != by_name && !guide.bench.empty()) {
    fail<UsageError>("--bench belongs to log and published alone");
  }
  return reading(guide);
}

}  // namespace scalebench
