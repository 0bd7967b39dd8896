// SPDX-License-Identifier: Apache-2.0
#include "bench/study/plan/cases.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "bench/study/plan/named.hpp"
#include "bench/study/plan/plan.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

using Words = std::vector<std::string>;

void leave_out(Words& words, const char* option) {
  const auto at = std::ranges::find(words, option);
  if (at != words.end()) words.erase(at, at + 2);
}

/// What tells the case of a launch from others of its program and place: what rows will say, and so
/// with the model's own batch, optimizer and learning rate where it leaves them to the model, and
/// with the images of the whole set where it says none.
Words telling_arguments(const PlannedLaunch& launch, bool on_cpus) {
  Words telling = launch.arguments;
  if (launch.program != "bench_epoch") return telling;
  const auto set = [&](const char* option, std::string value) {
    leave_out(telling, option);
    telling.insert(telling.end(), {option, std::move(value)});
  };
  const std::string& model = launch.model;
  const std::string batch = fmt::format("{}", default_batch(model));
  const std::pair<const char*, std::string> defaults[]{
      {"--global-batch", batch},
      {"--batch-per-rank", batch},
      {"--lr", fmt::format("{}", default_learning_rate(model))},
      {"--optimizer", std::string(default_optimizer(model))}};
  for (const auto& [option, of_model] : defaults) {
    const std::string said = argument_of(launch, option);
    set(option, said.empty() || said == "0" ? of_model : said);
  }
  const std::string data = argument_of(launch, "--data");
  const auto images = images_of(data);
  set("--data", data == "synthetic" ? fmt::format("{}:{}", data, images.value()) : data);
  const std::string samples = argument_of(launch, "--samples");
  set("--samples", samples == "0" && images ? std::to_string(*images) : samples);
  const std::string transport = argument_of(launch, "--transport");
  set("--transport", transport == "auto" && on_cpus ? "mpi" : transport);
  // Without allreduces, or without anything that travels, it is the same by whatever is asked for.
  if (!sends_allreduces(launch.gradient_sync)) leave_out(telling, "--allreduce");
  if (sends_nothing(launch.gradient_sync)) leave_out(telling, "--transport");
  return telling;
}

/// Without what no row says.
Words words_of_case(Words telling) {
  std::erase(telling, "--no-evaluation");
  leave_out(telling, "--epochs");
  return telling;
}

}  // namespace

std::vector<PlannedLaunch> each_once(const std::vector<PlannedLaunch>& round, bool on_cpus) {
  using Case = std::tuple<std::string, int, int, int, Words>;
  std::map<Case, std::pair<const PlannedLaunch*, Words>> first_of;
  std::vector<PlannedLaunch> once;
  for (const PlannedLaunch& launch : round) {
    Words telling = telling_arguments(launch, on_cpus);
    Case its(launch.program, launch.ranks, launch.nodes, launch.per_node, words_of_case(telling));
    const auto [found, is_new] = first_of.try_emplace(std::move(its), &launch, telling);
    const auto& [first, as_it_trains] = found->second;
    if (is_new) once.push_back(launch);
    if (telling == as_it_trains) continue;
    fail<UsageError>(
        "[[epoch]] {} and {} have {} in common and differ in epochs or evaluate, which tell no "
        "rows apart: give both the same",
        first->study + 1, launch.study + 1, launch.name);
  }
  return once;
}

}  // namespace scalebench
