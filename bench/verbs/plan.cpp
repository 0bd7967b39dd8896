// SPDX-License-Identifier: Apache-2.0
// scalebench plan CONFIG: what run would start, as commands to be typed or as JSON. Touches
// nothing.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "bench/record/emulation.hpp"
#include "bench/record/result_row.hpp"
#include "bench/verbs/document.hpp"
#include "bench/verbs/job_setup.hpp"
#include "bench/verbs/study_choice.hpp"
#include "bench/verbs/verb.hpp"

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

std::string plan_document(const PlanOptions& options, const StudyConfig& config,
                          const std::vector<PlannedLaunch>& plan) {
  LaunchSettings settings = settings_of(options, config, plan);
  settings.run_id = kPlannedRun;
  json environment = json::object();
  for (const auto& [name, value] : settings.environment) environment[name] = value;
  json launches = json::array();
  double seconds = 0;
  for (const PlannedLaunch& launch : plan) {
    launches.push_back(json_of(launch, settings));
    seconds += launches.back().at("guess_seconds").get<double>();
  }
  return document({{"study", config.name},
                   {"config", options.config.string()},
                   {"seed", config.seed},
                   {"rounds", config.launches},
                   {"devices", limits_of(options, config).devices},
                   {"origin", is_emulated(settings) ? "emulated" : "measured"},
                   {"environment", std::move(environment)},
                   {"job", options.job ? json_of(*options.job) : json()},
                   {"guess_seconds", seconds},
                   {"launches", std::move(launches)}});
}

ExitCode show_plan(PlanOptions options) {
  enter_job(options);
  const StudyConfig config = config_of(options);
  const std::vector<PlannedLaunch> plan = plan_of(config, limits_of(options, config));
  const Console console(/*speaks=*/true, /*quiet=*/true);
  if (options.as_json) {
    console.result(plan_document(options, config, plan));
  } else {
    print_plan(options, config, plan, console);
  }
  return ExitCode::ok;
}

}  // namespace

void add_plan(CLI::App& verb, Invocation& invocation) {
  const auto options = std::make_shared<PlanOptions>();
  add_study_options(verb, *options);
  options->results_option = add_results_option(verb, *options);
  add_launcher_options(verb, *options);
  add_json_option(verb, options->as_json);
  verb.callback(
      [options, &invocation] { invocation.chosen = [options] { return show_plan(*options); }; });
}

}  // namespace scalebench
