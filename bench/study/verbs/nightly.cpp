// SPDX-License-Identifier: Apache-2.0
// scalebench nightly CONFIG: lock, doctor, the sweep, suspects again, one word, reports; and its
// `accept` and `list`. Exit: ok; regression where the build or the machine became slower, and where
// --fail-on says so; incomplete where the night is unsure, or another one holds the lock;
// nothing_measured.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "bench/cli/command_line.hpp"
#include "bench/cli/help.hpp"
#include "bench/cli/quantity.hpp"
#include "bench/launch/doctor.hpp"
#include "bench/program/fault.hpp"
#include "bench/record/file.hpp"
#include "bench/record/results_folder.hpp"
#include "bench/study/nightly/record.hpp"
#include "bench/study/run/end.hpp"
#include "bench/study/run/setup.hpp"
#include "bench/study/verbs/verb.hpp"
#include "kernels/error.hpp"
#include "kernels/json/parse_json.hpp"

namespace scalebench {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::int64_t kRounds = 12, kFewestRounds = 8;

struct NightlyOptions : StudyChoice {
  std::vector<std::string> fail_on;
  std::string publish;
  std::string inject;
};

/// The program that a fault can be put into. Throws UsageError for what is no fault.
std::string program_of(const std::string& inject) {
  try {
    const Injections valid({inject}, InjectedInto::allreduce, kAnyRanks);
    return "bench_allreduce";
  } catch (const UsageError&) {
    const Injections valid({inject}, InjectedInto::training, kAnyRanks);
    return "bench_epoch";
  }
}

/// Puts a fault into tonight's programs.
void inject(const std::string& fault, NightSetup& setup) {
  const std::string program = program_of(fault);
  bool taken = false;
  for (PlannedLaunch& launch : setup.study.plan) {
    if (launch.program != program) continue;
    taken = true;
    launch.arguments.insert(launch.arguments.end(), {"--inject", fault});
  }
  if (taken && !setup.accepted.accepted.is_null()) return;
  fail<UsageError>("--inject {}: {}", fault,
                   taken ? "no build of this study is accepted yet: a night without it first"
                         : "no program of this study takes it");
}

NightSetup setup_of(NightlyOptions options) {
  StudyConfig config = config_of(options);
  if (!options.launches && config.launches < kRounds) config.launches = kRounds;
  if (config.launches < kFewestRounds) {
    fail<UsageError>("--launches {}: valid: {} or more; two builds are compared in so many rounds",
                     config.launches, kFewestRounds);
  }
  options.out = (options.results / new_run_name(config.name)).string();
  const PlanLimits limits = limits_of(options, config);
  const std::vector<PlannedLaunch> plan = plan_of(config, limits);
  NightSetup setup{resolve(options, config, limits, plan),
                   accepted_tonight(options.results, config.name, plan)};
  if (!options.inject.empty()) inject(options.inject, setup);
  std::optional<Build> build = setup.accepted.build;
  if (!options.inject.empty() && !setup.accepted.changed) build = own_build();
  if (!build) return setup;
  options.out = accepted_name(options.out);
  setup.beside = resolve(options, config, limits, plan, std::move(*build));
  return setup;
}

/// The run as far as it came; where nothing was measured, what is known without.
Manifest manifest_of(const NightSetup& setup, const std::string& started_utc) {
  const fs::path run = setup.study.options.out;
  if (fs::exists(run / "manifest.json")) return read_manifest(run);
  Manifest manifest;
  manifest.run_id = run.filename().string();
  manifest.study = setup.study.config.name;
  manifest.started_utc = started_utc;
  manifest.tool = build_info();
  manifest.environment = environment_here();
  return manifest;
}

/// The cells of a run and what of it failed; none where there is no such run.
std::vector<Cell> cells_in(const std::string& folder, NightInput& input) {
  if (!fs::exists(fs::path(folder) / "manifest.json")) return {};
  const StoredRun run = read_stored_run(folder, WithSamples::no);
  for (const LaunchRecord& launch : run.manifest.launches) {
    if (launch.status == "failed") input.failed_launches.push_back(launch.name);
  }
  return cells_of(run);
}

/// All that a night measures. Throws where it cannot go on.
void measure(const NightSetup& setup, const std::atomic<bool>& stop, NightInput& input,
             Console& console) {
  const StartOptions& options = setup.study.options;
  const fs::path study = study_folder(options.results, setup.study.config.name, environment_here());
  input.history = rows_in(study, history_schema());
  const std::string now = utc_label();
  if (!input.history.empty() && input.history.back().get("started_utc") > now) {
    fail("the clock says {}, and the night before began at {}", now,
         input.history.back().get("started_utc"));
  }
  const std::vector<Finding> doctor =
      diagnose(doctor_inputs(options.mpirun.empty() ? "mpirun" : options.mpirun, options.results));
  if (doctor_exit_code(doctor) != 0) return console.result(render(doctor));
  input.paired = setup.beside.has_value();
  input.why_not = setup.accepted.why_not;
  measure_beside(setup, stop, console);
  if (stop) return;
  input.tonight = cells_in(options.out, input);
  input.accepted = cells_in(accepted_name(options.out), input);
  const std::set<std::string> suspects = suspects_of(input);
  if (suspects.empty()) return;
  measure_again(setup, suspects, stop, console);
  if (stop) return;
  const std::string again = rerun_name(options.out);
  input.tonight_again = cells_in(again, input);
  input.accepted_again = cells_in(accepted_name(again), input);
}

int exit_code_of(const Night& night, const Manifest& run, const std::vector<std::string>& fail_on) {
  const auto fails = [&](const char* state) { return std::ranges::count(fail_on, state) > 0; };
  const bool unsure = night.word == "UNSURE";
  if (fails("host") && !run.suspects.empty()) return 1;
  if (night.word == "SLOWER" || night.word == "MACHINE" || (unsure && fails("unsure"))) return 1;
  return unsure ? 3 : night.word == "PASS" ? 0 : 4;
}

/// For a terminal: the cells that need a look, and the title.
std::string night_text(const Night& night) {
  std::string text;
  for (const NightCell& cell : night.cells) {
    if (!needs_look(cell.word, cell.of_machine)) continue;
    const std::string change =
        std::isnan(cell.change()) ? "-" : fmt::format("{:+.1f} %", 100 * cell.change());
    text += fmt::format("{:<9} {:>8}  {:<20}  {}{}\n", cell.word, change,
                        show_time(cell.before()) + " -> " + show_time(cell.after()), cell.label,
                        cell.note.empty() ? "" : "  (" + cell.note + ")");
  }
  return text + night.title() + "\n";
}

/// Judges, writes, accepts the first night, draws and publishes.
ExitCode conclude(const NightlyOptions& options, NightInput& input, NightRecord record,
                  Console& console) {
  input.origin = record.run.origin;
  record.night = judge_night(input);
  record.exit_code = exit_code_of(record.night, record.run, options.fail_on);
  const fs::path folder = write_night(options.results, record);
  // Whatever goes wrong from here on, the night is told as far as it can be.
  const auto attempt = [&](const char* what, const auto& work) {
    try {
      work();
    } catch (const std::exception& error) {
      console.warn(fmt::format("{}: {}", what, error.what()), "the night is in " + folder.string());
      record.exit_code = std::max(record.exit_code, static_cast<int>(ExitCode::incomplete));
    }
  };
  if (record.accepted.is_null() && record.night.word == "PASS") {
    attempt("accept", [&] {
      accept_night(options.results, record.run.run_id, "the first complete night");
      console.note("accepted, as the first complete night: later ones are compared with it");
    });
  }
  const bool shown = draw(folder, "report", console);
  if (!options.publish.empty()) {
    attempt("publish", [&] {
      if (!shown) fail("there are no reports");
      publish(folder, options.publish);
    });
  }
  settle_night(options.results, record);
  if (!record.rehearsal.empty()) console.note("a rehearsal: " + record.rehearsal);
  console.result(night_text(record.night));
  console.note(fmt::format("results: {}", folder.string()));
  return name_suspects({options.results / record.run.run_id}, /*fail_on_host=*/false, console,
                       static_cast<ExitCode>(record.exit_code));
}

/// One night at a time; none and a warning while there is another one.
std::optional<FolderLock> only_night(const fs::path& results, Console& console) {
  const fs::path nights = results / "nightly";
  std::error_code ignored;  // the next line says what is wrong
  fs::create_directories(nights, ignored);
  require_room(nights, 0);
  try {
    return FolderLock(nights);
  } catch (const UsageError& error) {
    console.warn(fmt::format("another night is being measured: {}", error.what()));
    return {};
  }
}

ExitCode nightly(const NightlyOptions& options) {
  if (options.config.empty()) fail<UsageError>("nightly takes a config to measure");
  for (const std::string& state : options.fail_on) {
    require_known("--fail-on", state, std::array<std::string_view, 2>{"host", "unsure"});
  }
  Console console(/*speaks=*/true, options.quiet);
  const NightSetup setup = setup_of(options);
  if (options.dry_run) {
    print_plan(setup.study, console);
    if (setup.beside) console.result("# each in turns with the accepted programs\n");
    return ExitCode::ok;
  }
  const std::optional<FolderLock> lock = only_night(options.results, console);
  if (!lock) return ExitCode::incomplete;
  const Interruption interruption;
  const std::string started_utc = utc_label();
  NightInput input;
  try {
    measure(setup, interruption.stop(), input, console);
  } catch (const std::exception& error) {
    // Whatever shows the last night must not go on showing that one.
    input.early = error.what();
  }
  if (interruption.stop()) input.early = "interrupted";
  NightRecord record{
      manifest_of(setup, started_utc), {}, 0, options.inject, setup.accepted.accepted};
  const ExitCode code = conclude(options, input, std::move(record), console);
  return interruption.stop() ? interruption.exit_code() : code;
}

// nightly accept, nightly list.

struct NightsOptions {
  std::string run, reason, study;
  fs::path results = "results", otava;
};

/// The records of all nights, oldest first; what cannot be read is left out.
std::vector<json> read_nights(const fs::path& results) {
  std::vector<json> nights;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(results / "nightly", none)) {
    const fs::path file = entry.path() / kNightRecord;
    json record = fs::exists(file) ? json_or_null(read_file(file)) : json();
    if (record.is_object() && record.contains("run")) nights.push_back(std::move(record));
  }
  std::ranges::sort(nights, {}, [](const json& night) { return night["run"].dump(); });
  return nights;
}

std::string last_night(const fs::path& results) {
  std::string last;
  for (const json& night : read_nights(results)) {
    const std::string run = night["run"];
    const bool there = night["rehearsal"].is_null() && fs::exists(results / run / "COMPLETE");
    if (there) last = run;
  }
  if (last.empty()) fail<UsageError>("no complete night in {}", results.string());
  return last;
}

/// The name of the night that is typed: by itself, or in its folder.
std::string night_meant(const NightsOptions& options) {
  if (options.run.empty() || options.run == kLatest) return last_night(options.results);
  const fs::path run = run_meant(options.run);
  std::error_code none;
  if (run.has_parent_path() && !fs::equivalent(run.parent_path(), options.results, none)) {
    fail<UsageError>("'{}' is no night in {}", run.string(), options.results.string());
  }
  return run.filename().string();
}

ExitCode accept(const NightsOptions& options) {
  const std::string run = night_meant(options);
  Console console(/*speaks=*/true, /*quiet=*/false);
  // A night that runs beside the build of before would go on with this one.
  const std::optional<FolderLock> lock = only_night(options.results, console);
  if (!lock) return ExitCode::incomplete;
  console.result(accept_night(options.results, run, options.reason));
  return ExitCode::ok;
}

ExitCode list(const NightsOptions& options) {
  Console console(/*speaks=*/true, /*quiet=*/false);
  std::string text;
  fs::path history;  // of the last of these nights
  for (const json& night : read_nights(options.results)) {
    if (!options.study.empty() && night["study"] != options.study) continue;
    text += fmt::format("{}  {}", text_in(night, "run"), printable(text_in(night, "title")));
    if (!night["rehearsal"].is_null()) text += "  rehearsal";
    const json& accepted = night["accepted_now"];
    if (accepted.is_object()) text += "  accepted: " + printable(text_in(accepted, "reason"));
    text += "\n";
    history = options.results / "nightly" / text_in(night, "history");
  }
  console.result(text);
  if (options.otava.empty()) return ExitCode::ok;
  if (history.empty()) fail<UsageError>("no night in {}", options.results.string());
  const bool written = draw(history.parent_path(), "otava", console, {options.otava.string()});
  return written ? ExitCode::ok : ExitCode::incomplete;
}

}  // namespace

void add_nightly(CLI::App& verb, Invocation& invocation) {
  auto& options =
      options_of<NightlyOptions>(verb, invocation, nightly, unless_dry_run<NightlyOptions>);
  verb.add_option("config", options.config, "TOML file of the study, as configs/quick.toml");
  verb.add_option("--fail-on", options.fail_on,
                  "host, unsure: what ends with 1 beside a slower build or machine")
      ->delimiter(',')
      ->allow_extra_args(false);
  verb.add_option("--publish", options.publish,
                  "copy the reports into this folder too, as for Prometheus' textfile collector");
  verb.add_option("--ranks", options.ranks, "numbers of ranks, as 1,2,4, instead of the config's");
  verb.add_option("--launches", options.launches,
                  "rounds; default: 12, or the config's where those are more");
  verb.add_option("--inject", options.inject,
                  "a rehearsal: this fault in tonight's programs, as slower=0.3; never accepted");
  add_run_options(verb, options);

  CLI::App& accepts =
      *verb.add_subcommand("accept", "compare later nights with this one's programs");
  auto& accepted = options_of<NightsOptions>(accepts, invocation, accept);
  accepts.add_option("run", accepted.run, "a night; default: the last complete one");
  accepts.add_option("--reason", accepted.reason, "why, for those who come after");
  add_shown(accepts, "--results", accepted.results, "the folder of runs");
  CLI::App& lists =
      *verb.add_subcommand("list", "nights, what they ended with, which are accepted");
  auto& listed = options_of<NightsOptions>(lists, invocation, list);
  lists.add_option("--study", listed.study, "nights of this study alone");
  lists.add_option("--otava", listed.otava, "write the cells as Apache Otava's CSV form too");
  add_shown(lists, "--results", listed.results, "the folder of runs");
}

}  // namespace scalebench
