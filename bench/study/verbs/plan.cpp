// SPDX-License-Identifier: Apache-2.0
// scalebench plan CONFIG: what run would start, as commands to be typed or as JSON. Touches
// nothing.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "bench/cli/command_line.hpp"
#include "bench/machine/environment.hpp"
#include "bench/record/result_row.hpp"
#include "bench/study/run/resolved_study.hpp"
#include "bench/study/verbs/verb.hpp"

namespace scalebench {
namespace {

using nlohmann::json;

struct PlanOptions : StudyChoice {
  bool as_json = false;
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

ExitCode show_plan(PlanOptions options) {
  options.dry_run = true;
  enter_job(options);
  const ResolvedStudy study = resolve(options);
  const Console console(/*speaks=*/true, /*quiet=*/true);
  if (options.as_json) {
    console.result(plan_document(study, options.config));
  } else {
    print_plan(study, console);
  }
  return ExitCode::ok;
}

}  // namespace

void add_plan(CLI::App& verb, Invocation& invocation) {
  auto& options = options_of<PlanOptions>(verb, invocation, show_plan);
  add_study_options(verb, options);
  options.results_option = add_results_option(verb, options);
  add_launcher_options(verb, options);
  add_format_option(verb, options.as_json);
}

}  // namespace scalebench
