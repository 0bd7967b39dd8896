// SPDX-License-Identifier: Apache-2.0
#include "bench/study/plan/plan_file.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "bench/record/file.hpp"
#include "bench/record/result_row.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

using nlohmann::json;

json json_of(const PlannedLaunch& launch) {
  return {{"number", launch.number},
          {"round", launch.round},
          {"name", launch.name},
          {"program", launch.program},
          {"ranks", launch.ranks},
          {"nodes", launch.nodes},
          {"per_node", launch.per_node},
          {"arguments", launch.arguments},
          {"study", launch.study},
          {"gradient_sync", launch.gradient_sync},
          {"skipped_because", launch.skipped_because},
          {"guess_seconds", launch.guess_seconds}};
}

PlannedLaunch launch_of(const json& object) {
  PlannedLaunch launch;
  object.at("number").get_to(launch.number);
  object.at("round").get_to(launch.round);
  object.at("name").get_to(launch.name);
  object.at("program").get_to(launch.program);
  object.at("ranks").get_to(launch.ranks);
  // Earlier versions had this host, or left several to the launcher: not said.
  launch.nodes = object.value("nodes", 0);
  launch.per_node = object.value("per_node", 0);
  object.at("arguments").get_to(launch.arguments);
  object.at("study").get_to(launch.study);
  object.at("gradient_sync").get_to(launch.gradient_sync);
  object.at("skipped_because").get_to(launch.skipped_because);
  object.at("guess_seconds").get_to(launch.guess_seconds);
  return launch;
}

json json_of(const LaunchSettings& settings) {
  return {{"mpirun", settings.mpirun},
          {"launcher", settings.launcher},
          {"mpi", settings.mpi},
          {"hosts", host_words(settings.hosts)},
          {"device", settings.device},
          {"threads", settings.threads},
          {"oversubscribe", settings.oversubscribe},
          {"bind_to_core", settings.bind_to_core},
          {"mpirun_arguments", settings.mpirun_arguments},
          {"environment", settings.environment}};
}

LaunchSettings settings_of(const json& object) {
  LaunchSettings settings;
  object.at("mpirun").get_to(settings.mpirun);
  settings.launcher = object.value("launcher", settings.launcher);
  settings.mpi = object.value("mpi", settings.mpi);
  settings.device = object.value("device", settings.device);
  settings.threads = object.value("threads", settings.threads);
  const std::string hosts = object.value("hosts", std::string());
  if (!hosts.empty()) settings.hosts = parse_hosts(hosts, "plan.json: hosts");
  object.at("oversubscribe").get_to(settings.oversubscribe);
  object.at("bind_to_core").get_to(settings.bind_to_core);
  object.at("mpirun_arguments").get_to(settings.mpirun_arguments);
  object.at("environment").get_to(settings.environment);
  return settings;
}

}  // namespace

std::string plan_text(const StoredPlan& plan) {
  json launches = json::array();
  for (const PlannedLaunch& launch : plan.launches) launches.push_back(json_of(launch));
  const json object{{"schema_version", kSchemaVersion},
                    {"settings", json_of(plan.settings)},
                    {"launches", std::move(launches)}};
  return object.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

StoredPlan read_plan(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / kPlanFile;
  const std::string text = read_file(path);
  try {
    const json object = json::parse(text);
    const int version = object.at("schema_version").get<int>();
    if (version > kSchemaVersion) {
      fail<UsageError>(
          "{}: schema version {} is later than {}, which this program reads; use a later one",
          path.string(), version, kSchemaVersion);
    }
    StoredPlan plan;
    plan.settings = settings_of(object.at("settings"));
    for (const json& launch : object.at("launches")) plan.launches.push_back(launch_of(launch));
    return plan;
  } catch (const json::exception& error) {
    fail<UsageError>("{}: not a plan: {}", path.string(), error.what());
  }
}

std::string argument_of(const PlannedLaunch& launch, std::string_view option) {
  const auto found = std::ranges::find(launch.arguments, option);
  const bool has_value =
      found != launch.arguments.end() && std::next(found) != launch.arguments.end();
  return has_value ? *std::next(found) : std::string();
}

}  // namespace scalebench
