// SPDX-License-Identifier: Apache-2.0
// plan.json: what a study is going to start, written before its first launch.
#include <nlohmann/json.hpp>
#include <utility>

#include "bench/record/json_members.hpp"
#include "bench/study/plan/plan.hpp"

namespace scalebench {

using nlohmann::json;

// What nlohmann/json is to find by the type stands in this namespace itself.

static void members(auto& visit, PlannedLaunch& launch) {
  visit("number", launch.number);
  visit("round", launch.round);
  visit("name", launch.name);
  visit("program", launch.program);
  visit("ranks", launch.ranks);
  visit("nodes", launch.nodes);
  visit("per_node", launch.per_node);
  visit("arguments", launch.arguments);
  visit("study", launch.study);
  visit("model", launch.model);
  visit("gradient_sync", launch.gradient_sync);
  visit("scaling", launch.scaling);
  visit("allreduce", launch.allreduce);
  visit("share_of", launch.share_of);
  visit("skipped_because", launch.skipped_because);
  visit("guess_seconds", launch.guess_seconds);
  visit("most_seconds", launch.most_seconds);
}

static void members(auto& visit, LaunchSettings& settings) {
  visit("mpirun", settings.mpirun);
  visit("launcher", settings.launcher);
  visit("mpi", settings.mpi);
  visit("device", settings.device);
  visit("threads", settings.threads);
  visit("oversubscribe", settings.oversubscribe);
  visit("bind_to_core", settings.bind_to_core);
  visit("mpirun_arguments", settings.mpirun_arguments);
  visit("environment", settings.environment);
}

std::string plan_text(const StoredPlan& plan) {
  json settings = plan.settings;
  settings["hosts"] = host_words(plan.settings.hosts);
  return document({{"settings", std::move(settings)}, {"launches", plan.launches}});
}

StoredPlan read_plan(const std::filesystem::path& folder) {
  StoredPlan plan;
  std::string hosts;
  read_document(folder / kPlanFile, "a plan", [&](const json& object) {
    const json& settings = object.at("settings");
    settings.get_to(plan.settings);
    settings.at("hosts").get_to(hosts);
    object.at("launches").get_to(plan.launches);
  });
  if (!hosts.empty()) plan.settings.hosts = parse_hosts(hosts, "plan.json: hosts");
  return plan;
}

}  // namespace scalebench
