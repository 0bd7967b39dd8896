// SPDX-License-Identifier: Apache-2.0
// scalebench import KIND FILE...: other programs' results, and published ones by name, as a results
// folder. What cannot be used is said with its place and counted.
// Exit: ok; incomplete: something of the files could not be used; nothing_measured: no result in
// any of them.
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include "bench/cli/command_line.hpp"
#include "bench/cli/console.hpp"
#include "bench/machine/digest.hpp"
#include "bench/record/file.hpp"
#include "bench/record/results_folder.hpp"
#include "bench/study/import/imported_rows.hpp"
#include "bench/study/import/kinds.hpp"
#include "bench/study/run/result_text.hpp"
#include "bench/study/run/setup.hpp"
#include "bench/study/verbs/verb.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

constexpr std::uintmax_t kBytesNeededToImport = 10'000'000;
constexpr std::size_t kFindingsShown = 20;

struct ImportOptions {
  std::string kind;
  std::vector<std::string> files;
  std::filesystem::path results = "results";
  std::string out;
  ImportGuide guide;
  std::vector<std::string> settings;
  std::string launches, rounds;  // of each file
  bool quiet = false;
  std::vector<std::string> command;
};

/// What an option says of each file; 0: nothing.
std::vector<int> of_each(std::string_view option, const std::string& text, std::size_t files) {
  if (text.empty()) return std::vector<int>(files, 0);
  std::vector<int> numbers = parse_counts(option, text);
  if (numbers.size() != files) {
    fail<UsageError>("{} {}: {} numbers for {} files", option, text, numbers.size(), files);
  }
  return numbers;
}

void warn_of(const std::string& file, const ImportedFile& read, Console& console) {
  for (std::size_t i = 0; i < read.findings.size() && i < kFindingsShown; ++i) {
    console.warn(printable(text_of(file, read.findings[i])));
  }
  if (read.findings.size() > kFindingsShown) {
    console.warn(printable(
        fmt::format("{}: and {} more such places", file, read.findings.size() - kFindingsShown)));
  }
  if (read.launches.empty()) console.warn(printable(fmt::format("{}: no result in it", file)));
}

/// A run is of one machine: values of two kinds of GPUs would be of one case.
void warn_of_other_gpus(const std::string& file, const Facts& key, const Facts& before,
                        Console& console) {
  const auto kinds = [](const Facts& facts) {
    const std::vector<std::string> gpus = texts_in(facts, "gpus");
    return std::set<std::string>(gpus.begin(), gpus.end());
  };
  const std::set<std::string> here = kinds(key), others = kinds(before);
  if (here.empty() || others.empty() || here == others) return;
  console.warn(
      printable(fmt::format("{}: of {}, and files before it of {}: import them apart, "
                            "or the values of both are one case",
                            file, fmt::join(here, ", "), fmt::join(others, ", "))));
}

/// The same file twice would count as two launches that agree perfectly.
void require_new(const std::string& file, const std::string& sha256,
                 std::map<std::string, std::string>& seen) {
  const auto [at, is_new] = seen.emplace(sha256, file);
  if (is_new) return;
  fail<UsageError>("{}: the same as {} (SHA-256 {}); a file counts once", file, at->second,
                   sha256.substr(0, 12));
}

/// The files, read: their launches with numbers, and their part of the manifest.
struct Contents {
  std::vector<NumberedLaunch> launches;
  ImportRecord record;
  Environment environment;
  bool incomplete = false;
};

Contents read_all(const ImportOptions& options, const ImportReader& reader, Console& console) {
  Contents contents;
  contents.record.kind = options.kind;
  const std::vector<Settings> settings =
      parse_settings(options.settings, *reader.schema, options.files.size());
  // Without a number each start in a file is a launch of its own.
  const std::vector<int> numbers = of_each("--launch", options.launches, options.files.size());
  const std::vector<int> rounds = of_each("--round", options.rounds, options.files.size());
  std::map<int, int> round_of;  // by launch
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] == 0 || round_of.emplace(numbers[i], rounds[i]).first->second == rounds[i])
      continue;
    fail<UsageError>("--round {}: launch {} is of rounds {} and {}", options.rounds, numbers[i],
                     round_of[numbers[i]], rounds[i]);
  }
  int next = 1;
  std::map<std::string, std::string> seen;  // SHA-256: file
  for (std::size_t i = 0; i < options.files.size(); ++i) {
    const std::string& file = options.files[i];
    ImportedFile read = reader.read(file, settings[i]);
    const std::string sha256 = sha256_of_file(file);
    require_new(file, sha256, seen);
    warn_of(file, read, console);
    contents.incomplete |= !read.findings.empty() || read.launches.empty();
    ImportRecord::File& record = contents.record.files.emplace_back();
    record = {file, sha256, std::filesystem::file_size(file), {}, read.findings.size(), {}};
    if (!options.guide.name.empty()) record.name += ": " + options.guide.name;
    if (rounds[i] > 0) record.round = rounds[i];
    for (ImportedLaunch& launch : read.launches) {
      const int number = numbers[i] > 0 ? numbers[i] : next++;
      if (!std::ranges::count(record.launches, number)) record.launches.push_back(number);
      contents.launches.push_back({number, file, std::move(launch), rounds[i]});
    }
    warn_of_other_gpus(file, read.key, contents.environment.key, console);
    contents.environment.key.merge(read.key);
    contents.environment.treatment.merge(read.treatment);
  }
  return contents;
}

/// One for each number, as in a measured run.
std::vector<LaunchRecord> launch_records(const ImportOptions& options,
                                         const std::vector<NumberedLaunch>& origins,
                                         const ImportedRows& rows) {
  std::vector<LaunchRecord> records;
  for (const LaunchRows& launch : rows.launches) {
    LaunchRecord& record = records.emplace_back();
    record.number = launch.launch;
    record.program = options.kind;
    record.status = "ok";
    for (const ResultRow& row : launch.cases) {
      const std::string ranks = text_in(row, "ranks");
      if (!ranks.empty()) record.ranks = std::max(record.ranks, std::stoi(ranks));
      if (row.get("status") != "ok") record.status = row.get("status");
    }
    for (const NumberedLaunch& one : origins) {
      if (one.number != launch.launch) continue;
      record.note = std::filesystem::path(one.file).filename().string();
      record.command = one.launch.command;
    }
  }
  return records;
}

ExitCode import(ImportOptions options) {
  const bool published = options.kind == "published";
  if (published) {
    if (options.files.size() > 1) {
      fail<UsageError>("published takes one name, and its rows are a run: import others apart");
    }
    options.guide.catalog = configs_folder() / "published.csv";
    options.guide.name = std::exchange(options.files.front(), options.guide.catalog.string());
  }
  options.guide.presets = configs_folder() / "presets.toml";
  const std::string origin = published ? "quoted" : "imported";
  const ImportReader reader = import_reader(options.kind, options.guide);
  Console console(/*speaks=*/true, options.quiet);
  Contents contents = read_all(options, reader, console);
  if (contents.launches.empty()) return ExitCode::nothing_measured;
  require_cases(contents.launches);
  const std::filesystem::path folder =
      options.out.empty() ? new_run_folder(options.results, "import", kBytesNeededToImport)
                          : own_folder(options.out, kBytesNeededToImport);
  Manifest manifest;
  manifest.run_id = folder.filename().string();
  const ImportedRows rows =
      imported_rows(contents.launches, *reader.schema, {manifest.run_id, origin});
  manifest.study = "import";
  manifest.origin = origin;
  manifest.started_utc = utc_label();
  manifest.command = options.command;
  if (!options.guide.map.empty()) manifest.config = read_file(options.guide.map);
  manifest.tool = build_info();
  manifest.environment = contents.environment;
  manifest.import = contents.record;
  manifest.launches = launch_records(options, contents.launches, rows);
  write_import(folder, rows, *reader.schema, manifest);
  console.result(result_text({}, {rows.cases}));
  const std::string no_speedup = why_no_speedup(rows);
  if (!no_speedup.empty()) console.warn(printable(no_speedup));
  console.note(fmt::format("results: {}", folder.string()));
  return contents.incomplete ? ExitCode::incomplete : ExitCode::ok;
}

/// As import; what files made unprintable in a refusal is spelled out.
ExitCode import_printably(const ImportOptions& options) {
  try {
    return import(options);
  } catch (const UsageError& error) {
    std::string shown;
    std::istringstream lines(error.what());
    for (std::string line; std::getline(lines, line);) {
      shown += fmt::format("{}{}", shown.empty() ? "" : "\n", printable(line));
    }
    throw UsageError(shown);
  }
}

void add_one_each(CLI::App& verb, const std::string& name, std::vector<std::string>& values,
                  const std::string& what) {
  verb.add_option(name, values, what)
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

}  // namespace

void add_import(CLI::App& verb, Invocation& invocation) {
  auto& options = options_of<ImportOptions>(verb, invocation, import_printably);
  verb.add_option("kind", options.kind, fmt::format("{}", fmt::join(import_kinds(), ", ")))
      ->required();
  verb.add_option("file", options.files,
                  "what that program wrote; each start is a launch. published: names")
      ->required();
  add_shown(verb, "--results", options.results, "where the new folder goes");
  verb.add_option("--out", options.out, "the new folder itself");
  verb.add_option("--map", options.guide.map, "csv: TOML file that says which column is what");
  verb.add_option("--bench", options.guide.bench,
                  "log: what its values are of: epoch (the default) or throughput");
  verb.add_option("--preset", options.guide.preset,
                  "log: whose log it is, instead of --metric; one of list presets");
  add_one_each(verb, "--metric", options.guide.metrics,
               "log: column=expression or column:unit=expression, its number in (...)");
  add_one_each(verb, "--set", options.settings,
               "column=value, or as many values, separated by commas, as there are files");
  verb.add_option(
      "--launch", options.launches,
      "number of the launch of each file, as 1,1,2: files of one launch, as one a rank");
  verb.add_option("--round", options.rounds,
                  "number of the round of each file, as 1,1,2,2: what ran close together in time, "
                  "one file for each number of ranks, is compared with each other");
  verb.add_flag("-q,--quiet", options.quiet, "warnings only");
}

}  // namespace scalebench
