// SPDX-License-Identifier: Apache-2.0
// TF_CONFIG: {"cluster": {"chief": ["h1:2222"], "worker": [...], "ps": [...]}, "task": {"type":
// "worker", "index": 0}}. Ranks in this order: chief, workers, ps, so that parameter servers are
// the last ones, which is where `--gradient-sync ps_*` has its servers. An evaluator is no rank.
// https://www.tensorflow.org/guide/distributed_training#setting_up_the_tf_config_environment_variable
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "bench/program/join/environments.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

constexpr std::array<std::string_view, 4> kTypes{"chief", "master", "worker", "ps"};
constexpr const char* kValid =
    R"(valid: {"cluster": {"worker": ["h1:2222", "h2:2222"]}, "task": {"type": "worker", "index": 0}})";

struct Task {
  std::string type;
  std::size_t index = 0;
  Endpoint at;
};

[[noreturn]] void refuse_config(std::string_view where, std::string_view what) {
  fail<UsageError>("TF_CONFIG: {}: {}; {}", where, what, kValid);
}

/// "1:17" of a byte, counted from 1 as the parser does.
std::string place_of(std::string_view text, std::size_t byte) {
  const std::string_view before = text.substr(0, byte == 0 ? 0 : byte - 1);
  const auto line = 1 + std::ranges::count(before, '\n');
  const std::size_t begin = before.rfind('\n');
  const std::size_t column =
      begin == std::string_view::npos ? before.size() : before.size() - begin - 1;
  return fmt::format("{}:{}", line, column + 1);
}

nlohmann::json parsed(const std::string& text) {
  try {
    return nlohmann::json::parse(text);
  } catch (const nlohmann::json::parse_error& error) {
    // "[json.exception.parse_error.101] parse error at line 1, column 9: what"
    std::string_view what = error.what();
    const std::size_t column = what.find("column ");
    const std::size_t colon = what.find(": ", column == std::string_view::npos ? 0 : column);
    if (colon != std::string_view::npos) what.remove_prefix(colon + 2);
    refuse_config(place_of(text, error.byte), what);
  }
}

std::vector<Task> tasks_of(const nlohmann::json& cluster) {
  for (const auto& [type, list] : cluster.items()) {
    const bool known = type == "evaluator" || std::ranges::find(kTypes, type) != kTypes.end();
    if (!known) {
      refuse_config("cluster",
                    fmt::format("unknown task type '{}': chief, worker, ps or evaluator", type));
    }
  }
  std::vector<Task> tasks;
  for (const std::string_view type : kTypes) {
    const auto list = cluster.find(type);
    if (list == cluster.end()) continue;
    const std::string where = fmt::format("cluster.{}", type);
    if (!list->is_array()) refuse_config(where, "is no list");
    for (const nlohmann::json& entry : *list) {
      const std::size_t index = static_cast<std::size_t>(&entry - &list->front());
      const std::string place = fmt::format("TF_CONFIG: {}[{}]", where, index);
      if (!entry.is_string()) fail<UsageError>("{}: is no text; valid: \"host:port\"", place);
      Task task{std::string(type), index, parse_endpoint(entry.get<std::string>(), place)};
      const auto same = std::ranges::find(tasks, task.at, &Task::at);
      if (same != tasks.end()) {
        fail<UsageError>("{}: {} is {} {}'s too; valid: a port of its own for each task", place,
                         describe(task.at), same->type, same->index);
      }
      tasks.push_back(std::move(task));
    }
  }
  return tasks;
}

/// The number of this process's task among `tasks`.
std::size_t own_task(const nlohmann::json& config, const std::vector<Task>& tasks) {
  const auto task = config.find("task");
  if (task == config.end() || !task->is_object()) refuse_config("task", "is missing");
  const auto type = task->find("type");
  if (type == task->end() || !type->is_string())
    refuse_config("task.type", "is missing or no text");
  const std::string name = type->get<std::string>();
  if (name == "evaluator") {
    fail<UsageError>(
        "TF_CONFIG: task.type: an evaluator takes no part in training; valid here: "
        "chief, worker, ps");
  }
  const auto count = static_cast<std::size_t>(std::ranges::count(tasks, name, &Task::type));
  if (count == 0) refuse_config("task.type", fmt::format("'{}' is not in the cluster", name));
  const auto index = task->find("index");
  // Some write it as text.
  const std::string text = index == task->end() ? "missing"
                           : index->is_string() ? index->get<std::string>()
                                                : index->dump();
  const auto own = std::ranges::find_if(tasks, [&](const Task& one) {
    return one.type == name && std::to_string(one.index) == text;
  });
  if (own == tasks.end()) {
    fail<UsageError>("TF_CONFIG: task.index: {} is outside cluster.{}; valid: 0 to {}", text, name,
                     count - 1);
  }
  return static_cast<std::size_t>(own - tasks.begin());
}

/// "ps tasks are ranks too: rank 3 is ps 0; ..."
std::string note_on_servers(const std::vector<Task>& tasks) {
  const auto servers = std::ranges::count(tasks, std::string("ps"), &Task::type);
  if (servers == 0) return "";
  return fmt::format(
      "TF_CONFIG: its {} ps task(s) are the last of {} ranks; servers only with --gradient-sync "
      "ps_sync or ps_async, and --servers {}",
      servers, tasks.size(), servers);
}

}  // namespace

std::optional<JoinPlan> tf_config_plan(const EnvironmentVariables& variables) {
  const std::string text = variable(variables, "TF_CONFIG");
  if (text.empty()) return std::nullopt;
  const nlohmann::json config = parsed(text);
  if (!config.is_object()) refuse_config("1:1", "is no object");
  const auto cluster = config.find("cluster");
  if (cluster == config.end() || cluster->empty()) return std::nullopt;  // TensorFlow alone too
  if (!cluster->is_object()) refuse_config("cluster", "is no object");
  const std::vector<Task> tasks = tasks_of(*cluster);
  if (tasks.empty()) refuse_config("cluster", "has no task that could be a rank");
  const std::size_t own = own_task(config, tasks);
  if (tasks.size() == 1) return std::nullopt;

  JoinPlan plan;
  plan.source = "TF_CONFIG";
  plan.process = static_cast<int>(own);
  plan.host = tasks[own].at.address;
  plan.meeting = tasks.front().at;
  plan.job = cluster->dump();
  plan.note = note_on_servers(tasks);
  const auto here = [&](const Task& task) { return task.at.address == plan.host; };
  plan.slots = static_cast<int>(std::ranges::count_if(tasks, here));
  plan.is_agent = std::ranges::find_if(tasks, here) - tasks.begin() == static_cast<long>(own);
  for (const Task& task : tasks) {
    plan.processes.push_back(fmt::format("{} {} ({})", task.type, task.index, describe(task.at)));
  }
  return plan;
}

}  // namespace scalebench
