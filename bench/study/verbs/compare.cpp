// SPDX-License-Identifier: Apache-2.0
// scalebench compare A B ...: cell by cell against the first run; and which instance type to rent.
// Exit: regression: a cell is SLOWER, or a host is named and --fail-on host; incomplete: a cell
// is MISSING, none could be decided, or no decision between instance types; nothing_measured: no
// cell that both have could be tested, and no decision was asked for.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "bench/cli/command_line.hpp"
#include "bench/cli/console.hpp"
#include "bench/cli/help.hpp"
#include "bench/machine/digest.hpp"
#include "bench/record/file.hpp"
#include "bench/study/analysis/cells.hpp"
#include "bench/study/analysis/stored_run.hpp"
#include "bench/study/comparison/comparison.hpp"
#include "bench/study/comparison/decision.hpp"
#include "bench/study/comparison/report.hpp"
#include "bench/study/run/end.hpp"
#include "bench/study/run/in_turns.hpp"
#include "bench/study/run/resolved_study.hpp"
#include "bench/study/run/setup.hpp"
#include "bench/study/verbs/verb.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

constexpr std::size_t kMostRuns = 26;  // letters

struct CompareOptions {
  std::vector<std::filesystem::path> runs;
  std::string across;                  // a column; empty: none
  std::vector<std::string> where;      // "[A:]column=value,value"
  std::vector<std::string> instances;  // "A=p3.8xlarge"
  std::vector<std::string> prices;     // "p3.8xlarge=12.24"
  std::filesystem::path catalog;       // empty: the one of this installation
  double startup_seconds = 0;          // that each instance is paid for before its first epoch
  std::string out;
  std::vector<std::filesystem::path> builds;  // folders of programs, instead of runs
  StudyChoice study;                          // how they are measured
  std::vector<std::string> command;           // argv as typed
};

/// "NAME=VALUE" in two.
struct Assignment {
  std::string name;
  std::string value;
};

Assignment split_assignment(std::string_view option, std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0 || equals + 1 == text.size()) {
    fail<UsageError>("{} '{}': valid: NAME=VALUE", option, text);
  }
  return {std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))};
}

/// The place of the run with this letter.
std::size_t run_named(std::string_view option, std::string_view letter, std::size_t runs) {
  const auto place = letter.size() == 1 ? static_cast<std::size_t>(letter[0] - 'A') : runs;
  if (place < runs) return place;
  fail<UsageError>("{}: '{}' is no run; valid: A to {}", option, letter,
                   static_cast<char>('A' + runs - 1));
}

/// Keeps of the runs what --where, "[A:]column=value,value", wants.
void keep_wanted(const CompareOptions& options, std::vector<ComparedRun>& runs) {
  for (const std::string& text : options.where) {
    const Assignment given = split_assignment("--where", text);
    const std::vector<std::string> values = split_list("--where", given.value);
    const std::size_t colon = given.name.find(':');
    const bool all = colon == std::string::npos;
    const std::string column = all ? given.name : given.name.substr(colon + 1);
    const std::size_t its =
        all ? 0 : run_named("--where", given.name.substr(0, colon), runs.size());
    for (std::size_t i = 0; i < runs.size(); ++i) {
      if (!all && i != its) continue;
      const bool had_some = !runs[i].cells.empty();
      keep_where(runs[i].cells, column, values);
      if (!had_some || !runs[i].cells.empty()) continue;
      fail<UsageError>("--where {}: no cell of {} matches", text, options.runs[i].string());
    }
  }
}

/// The catalog with the user's own prices in it, each dated `today`.
std::vector<Instance> catalog_of(const CompareOptions& options, const std::string& today) {
  const std::filesystem::path own = configs_folder() / "instances.csv";
  std::vector<Instance> catalog = read_instances(options.catalog.empty() ? own : options.catalog);
  for (const std::string& text : options.prices) {
    const Assignment given = split_assignment("--price", text);
    set_price(catalog, given.name, given.value, today);
  }
  return catalog;
}

void require_valid(const CompareOptions& options) {
  if (options.runs.size() > kMostRuns) {
    fail<UsageError>("{} runs; valid: up to {}", options.runs.size(), kMostRuns);
  }
  if (options.runs.size() == 1 && options.instances.empty()) {
    fail<UsageError>(
        "one run has nothing to be compared with; valid: two or more, or one with "
        "--instance A=TYPE for its cost");
  }
}

std::vector<ComparedRun> runs_of(const CompareOptions& options,
                                 std::vector<std::string>& warnings) {
  std::vector<ComparedRun> runs;
  for (const std::filesystem::path& folder : options.runs) {
    StoredRun stored = read_stored_run(folder, WithSamples::no);
    std::ranges::move(stored.torn, std::back_inserter(warnings));
    ComparedRun& run = runs.emplace_back();
    run.letter = static_cast<char>('A' + runs.size() - 1);
    run.folder = folder;
    run.cells = cells_of(stored);
    run.manifest = std::move(stored.manifest);
    run.manifest_sha256 = sha256_of_file(folder / "manifest.json");
    run.differences = differences_of(runs.front().manifest, run.manifest);
    if (const std::string injected = injected_in(run.cells); !injected.empty()) {
      warnings.push_back(fmt::format("{} was disturbed on purpose: {}", folder.string(), injected));
    }
  }
  keep_wanted(options, runs);
  return runs;
}

/// One machine is of one type. An import's manifest is of where it was imported.
void require_two_machines(const ComparedRun& run, const ComparedRun& other) {
  if (!run.instance || !other.instance || run.instance->name == other.instance->name) return;
  if (!is_measured_here(run.manifest.origin) || !is_measured_here(other.manifest.origin)) return;
  if (of_other_machines(differences_of(run.manifest, other.manifest))) return;
  fail<UsageError>(
      "--instance: {} and {} were measured on the same machine, which is not both {} and {}",
      run.letter, other.letter, run.instance->name, other.instance->name);
}

/// The instance types that the command line says the runs were on.
void set_instances(const CompareOptions& options, const std::vector<Instance>& catalog,
                   CompareReport& report) {
  for (const std::string& text : options.instances) {
    const Assignment given = split_assignment("--instance", text);
    const std::size_t run = run_named("--instance", given.name, report.runs.size());
    if (report.runs[run].instance) {
      fail<UsageError>("--instance {}: {} has a type already, {}", text, report.runs[run].letter,
                       report.runs[run].instance->name);
    }
    report.runs[run].instance = row_named(catalog, &Instance::name, "instance", given.value);
  }
  for (const ComparedRun& run : report.runs) {
    for (const ComparedRun& other : report.runs) require_two_machines(run, other);
  }
}

void add_costs(const CompareOptions& options, CompareReport& report) {
  if (options.instances.empty()) return;
  const std::vector<Instance> catalog = catalog_of(options, utc_label().substr(0, 10));
  set_instances(options, catalog, report);
  std::vector<std::vector<Cost>> costs;  // of each priced run
  for (const ComparedRun& run : report.runs) {
    if (!run.instance) {
      report.warnings.push_back(fmt::format(
          "{} has no instance type, so no cost: --instance {}=TYPE", run.letter, run.letter));
      continue;
    }
    costs.push_back(costs_of(run.manifest.run_id, run.cells, *run.instance));
    if (costs.back().empty()) {
      report.warnings.push_back(fmt::format(
          "{} has no epochs, so no cost: [[epoch]] measures them, and an import of a log makes "
          "them of images a second (--bench epoch --set samples=IMAGES)",
          run.letter));
    }
  }
  if (costs.size() > 1) {
    report.decisions = decisions_of(costs, options.startup_seconds);
    report.undecided = !all_decided(report.decisions);
  }
  for (std::vector<Cost>& some : costs) std::ranges::move(some, std::back_inserter(report.costs));
  mark_efficient(report.costs);
}

ExitCode exit_code_of(const CompareReport& report) {
  const Comparison& found = report.comparison;
  if (found.count(Verdict::slower) > 0) return ExitCode::regression;
  if (report.undecided) return ExitCode::incomplete;
  if (found.tested() > 0) {
    const bool whole = found.count(Verdict::missing) == 0 && found.decided() > 0;
    return whole ? ExitCode::ok : ExitCode::incomplete;
  }
  // Without a test what an epoch costs may still be what was asked for.
  const bool answered = report.runs.size() == 1 ? !report.costs.empty() : !report.decisions.empty();
  return answered ? ExitCode::ok : ExitCode::nothing_measured;
}

ExitCode compare(const CompareOptions& options) {
  require_valid(options);
  CompareReport report;
  report.command = options.command;
  report.runs = runs_of(options, report.warnings);
  add_costs(options, report);
  if (report.runs.size() > 1) {
    for (ComparedRun& run : report.runs) {
      if (!options.across.empty()) join_across(run.cells, options.across);
    }
    report.comparison = compare_runs(report.runs, options.across);
  }
  report.code = exit_code_of(report);
  Console console(/*speaks=*/true, /*quiet=*/false);
  for (const std::string& warning : report.warnings) console.warn(warning);
  if (!options.out.empty()) {
    const std::filesystem::path folder = write_comparison(options.out, report);
    draw_comparison(folder, console);
    console.note(fmt::format("comparison: {}", folder.string()));
  }
  console.result(compare_table(report));
  return report.code;
}

// compare --build A --build B CONFIG.

void require_builds(const CompareOptions& options) {
  if (options.builds.size() != 2) fail<UsageError>("--build: valid: twice, of A and of B");
  if (options.runs.size() != 1 || std::filesystem::is_directory(options.runs.front())) {
    fail<UsageError>("--build A --build B: valid beside them: one config to measure with both");
  }
  if (!options.instances.empty() || !options.across.empty()) {
    fail<UsageError>("--instance and --across compare runs, not two builds of one study");
  }
}

/// Before hours are spent: rounds that are too few for any verdict, were there one cell a launch.
void warn_of_few_rounds(const std::vector<PlannedLaunch>& plan, Console& console) {
  std::set<std::string> entries;
  for (const PlannedLaunch& launch : plan) entries.insert(launch.name);
  const std::size_t rounds = entries.empty() ? 0 : plan.size() / entries.size();
  const std::size_t needed = launches_needed(entries.size(), /*paired=*/true);
  if (rounds >= needed) return;
  console.warn(fmt::format("{} rounds can show no difference among {} cells or more", rounds,
                           entries.size()),
               fmt::format("--launches {}, or more", needed));
}

/// Measures both builds in turns, then compares their runs.
ExitCode compare_builds(CompareOptions options) {
  require_builds(options);
  Console console(/*speaks=*/true, /*quiet=*/false);
  const Interruption interruption;
  StudyChoice choice = options.study;
  choice.config = options.runs.front();
  choice.command = options.command;
  if (options.out.empty()) {
    options.out = (choice.results / fmt::format("{}-builds", utc_name())).string();
  }
  options.runs = {std::filesystem::path(options.out) / "a",
                  std::filesystem::path(options.out) / "b"};
  std::vector<ResolvedStudy> studies;
  for (std::size_t i = 0; i < options.builds.size(); ++i) {
    choice.out = options.runs[i].string();
    studies.push_back(resolve(choice, build_in(options.builds[i])));
  }
  warn_of_few_rounds(studies[0].plan, console);
  const bool complete =
      measure_pair(std::move(studies[0]), std::move(studies[1]), interruption.stop(), console);
  if (interruption.stop()) {
    console.warn("interrupted: everything that was measured is kept", options.out);
    return interruption.exit_code();
  }
  options.builds.clear();
  ExitCode code = compare(options);
  if (code == ExitCode::ok && !complete) code = ExitCode::incomplete;
  return name_suspects(options.runs, options.study.end.fail_on_host, console, code);
}

/// What is said of the measuring of two builds.
void add_build_options(CLI::App& verb, CompareOptions& options) {
  CLI::Option& build =
      *verb.add_option("--build", options.builds,
                       "twice, two builds: measures the config with both in turns; is B slower?")
           ->allow_extra_args(false)
           ->type_name("DIR");
  const std::size_t before = verb.get_options().size();
  verb.add_option("--launches", options.study.launches, "rounds of each case");
  add_launcher_options(verb, options.study);
  add_fail_on_option(verb, options.study.end.fail_on_host);
  for (std::size_t i = before; i < verb.get_options().size(); ++i) {
    verb.get_options()[i]->needs(&build);
  }
}

}  // namespace

void add_compare(CLI::App& verb, Invocation& invocation) {
  const auto act = [](const CompareOptions& options) {
    return options.builds.empty() ? compare(options) : compare_builds(options);
  };
  auto& options = options_of<CompareOptions>(verb, invocation, act);
  takes_runs(
      verb.add_option("runs", options.runs,
                      "folders of runs, A B C ...; A is the baseline. With --build: a config"))
      ->required();
  verb.add_option("--where", options.where,
                  "only cells and epochs with these parameters, as ranks=2,4 or B:algorithm=ring");
  CLI::Option* const instance =
      verb.add_option("--instance", options.instances,
                      "the instance type that a run was on, as A=p3.8xlarge: shows what epochs "
                      "cost");
  verb.add_option("--out", options.out,
                  "a new folder for report.html, compare.csv, compare.json and "
                  "figures");
  add_build_options(verb, options);
  const Heading method(verb, kMethod);
  verb.add_option("--across", options.across,
                  "a column in which cells that are compared may differ, as device");
  const Heading cost(verb, "Cost");
  verb.add_option("--price", options.prices,
                  "an hour's price instead of the catalog's, as TYPE=12.24")
      ->needs(instance);
  verb.add_option("--instances", options.catalog, "a catalog instead of configs/instances.csv");
  verb.add_option("--startup", options.startup_seconds, "seconds paid before the first epoch")
      ->check(CLI::NonNegativeNumber);
}

}  // namespace scalebench
