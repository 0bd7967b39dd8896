// SPDX-License-Identifier: Apache-2.0
#include "bench/study/import/kinds.hpp"

#include <fmt/format.h>
#include <re2/re2.h>
#include <utf8cpp/utf8.h>

#include <array>
#include <iterator>
#include <string>
#include <tuple>

#include "bench/cli/command_line.hpp"
#include "bench/record/file.hpp"
#include "kernels/error.hpp"

namespace scalebench {

namespace {

/// Windows' shells write UTF-16 into files. Throws UsageError where it is damaged.
std::string as_utf8(std::string text, const std::filesystem::path& path) {
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
    fail<UsageError>("{}:1: this begins as UTF-16 and is none", path.string());
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
  std::string text = as_utf8(read_file(required(path)), path);
  re2::RE2::GlobalReplace(&text, kColour, "");
  return text;
}

namespace {

constexpr std::array<std::string_view, 6> kKinds{"nccl-tests", "osu", "imb",
                                                 "csv",        "log", "published"};

void require_own_options(std::string_view kind, const ImportGuide& guide) {
  const std::tuple<std::string_view, bool, std::string_view> given[]{
      {"--metric", !guide.metrics.empty(), "log"},
      {"--preset", !guide.preset.empty(), "log"},
      {"--bench", !guide.bench.empty(), "log"},
      {"--map", !guide.map.empty(), "csv"}};
  for (const auto& [option, is_given, its] : given) {
    if (is_given && kind != its) fail<UsageError>("{} belongs to {} alone", option, its);
  }
}

LogGuide log_guide(const ImportGuide& guide) {
  constexpr std::array<std::string_view, 2> kBenches{"epoch", "throughput"};
  if (!guide.bench.empty()) require_known("bench", guide.bench, kBenches);
  const Schema& schema = guide.bench == "throughput" ? throughput_schema() : epoch_schema();
  if (guide.preset.empty() == guide.metrics.empty()) {
    fail<UsageError>("log: add --preset NAME or --metric column=expression, one of them");
  }
  if (!guide.preset.empty()) return {&schema, read_presets(guide.presets), guide.preset};
  return {&schema, {parse_metrics(guide.metrics, schema)}, ""};
}

}  // namespace

std::vector<std::string_view> import_kinds() { return {kKinds.begin(), kKinds.end()}; }

ImportReader import_reader(std::string_view kind, const ImportGuide& guide) {
  require_known("kind", kind, kKinds);
  require_own_options(kind, guide);
  if (kind == "log") {
    const LogGuide log = log_guide(guide);
    return {log.schema, [log](const std::string& path, const Settings& settings) {
              return read_log(read_foreign(path), path, log, settings);
            }};
  }
  if (kind == "csv" || kind == "published") {
    if (kind == "csv" && guide.map.empty()) {
      fail<UsageError>("csv: which column is what? add --map FILE.toml");
    }
    const CsvMap map =
        kind == "csv" ? read_csv_map(guide.map) : published_map(guide.catalog, guide.name);
    return {map.schema, [map](const std::string& path, const Settings& settings) {
              return read_mapped_csv(required(path), map, settings);
            }};
  }
  return {&allreduce_schema(), [](const std::string& path, const Settings& settings) {
            return read_collectives(read_foreign(path), path, settings);
          }};
}

}  // namespace scalebench
