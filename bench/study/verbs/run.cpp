// SPDX-License-Identifier: Apache-2.0
// scalebench run CONFIG: plan, launch everything, put the rows together, draw, report. With
// --dry-run it prints what it would start, as commands to be typed or as JSON, and touches nothing.
#include <nlohmann/json.hpp>

#include "bench/cli/help.hpp"
#include "bench/machine/environment.hpp"
#include "bench/record/result_row.hpp"
#include "bench/study/run/end.hpp"
#include "bench/study/run/resolved_study.hpp"
#include "bench/study/verbs/verb.hpp"

namespace scalebench {
namespace {

using nlohmann::json;

struct RunOptions : StudyChoice {
  bool as_json = false;  // the plan
};

json json_of(const PlannedLaunch& launch, const LaunchSettings& settings) {
  json one{{"number", launch.number},   {"round", launch.round}, {"name", launch.name},
           {"program", launch.program}, {"ranks", launch.ranks}, {"nodes", launch.nodes},
           {"command", nullptr},        {"shell", nullptr},      {"skipped", nullptr},
           {"guess_seconds", 0}};
  if (!launch.skipped_because.empty()) {
    one["skipped"] = launch.skipped_because;
    return one;
  }
  const std::vector<std::string> command = command_of(launch, settings, planned_folder(launch));
  one["command"] = command;
  one["shell"] = shell_line(command);
  one["guess_seconds"] = launch.guess_seconds;
  return one;
}

std::string plan_document(const ResolvedStudy& study, const std::filesystem::path& config) {
  const std::optional<ManagedJob>& job = study.options.job;
  json environment = json::object();
  for (const auto& [name, value] : study.settings.environment) environment[name] = value;
  json launches = json::array();
  double seconds = 0;
  for (const PlannedLaunch& launch : study.plan) {
    launches.push_back(json_of(launch, study.settings));
    seconds += launches.back().at("guess_seconds").get<double>();
  }
  return document({{"study", study.config.name},
                   {"config", config.string()},
                   {"seed", study.config.seed},
                   {"rounds", study.config.launches},
                   {"devices", study.limits.devices},
                   {"origin", origin_of(study.settings)},
                   {"environment", std::move(environment)},
                   {"job", job ? json_of(*job) : json()},
                   {"guess_seconds", seconds},
                   {"launches", std::move(launches)}});
}

ExitCode run_study(RunOptions options) {
  enter_job(options);
  const EndOptions end{.metrics = options.metrics || options.job,
                       .fail_on_host = options.fail_on_host};
  const ResolvedStudy study = resolve(options);
  if (!options.as_json) return measure_study(study, end);
  Console(/*speaks=*/true, /*quiet=*/true).result(plan_document(study, options.config));
  return ExitCode::ok;
}

}  // namespace

void add_run(CLI::App& verb, Invocation& invocation) {
  auto& options = options_of<RunOptions>(verb, invocation, run_study, unless_dry_run);
  add_study_options(verb, options);
  add_start_options(verb, options);
  add_figures_option(verb, options);
  const Heading recording(verb, kRecording);
  add_format_option(verb, options.as_json)->needs(verb.get_option("--dry-run"));
  verb.add_flag("--metrics", options.metrics,
                "also print lines for a regular expression, as inside managed jobs");
  add_fail_on_option(verb, options.fail_on_host);
}

}  // namespace scalebench
