// SPDX-License-Identifier: Apache-2.0
// RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT: what torchrun sets in
// each process, and operators that follow it, where a process without LOCAL_RANK has its host for
// itself. https://pytorch.org/docs/stable/elastic/run.html#environment-variables
#include "bench/join/join_plan.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

constexpr int kMostRanks = 1 << 20;

}  // namespace

std::optional<JoinPlan> torchrun_plan(const EnvironmentVariables& variables) {
  const auto is_set = [&](std::string_view name) {
    return variables.find(name) != variables.end();
  };
  // Each of the two alone may be anybody's.
  if (!is_set("RANK") || !is_set("WORLD_SIZE")) return std::nullopt;
  const int ranks = number_in(variables, "WORLD_SIZE", 1, kMostRanks);
  const int rank =
      number_in(variables, "RANK", 0, ranks - 1, fmt::format("WORLD_SIZE is {}", ranks));
  if (ranks == 1) return std::nullopt;
  JoinPlan plan;
  plan.source = "RANK, WORLD_SIZE";
  plan.process = rank;
  if (is_set("LOCAL_RANK") || is_set("LOCAL_WORLD_SIZE")) {
    plan.slots =
        number_in(variables, "LOCAL_WORLD_SIZE", 1, ranks, fmt::format("WORLD_SIZE is {}", ranks));
    const int local = number_in(variables, "LOCAL_RANK", 0, plan.slots - 1,
                                fmt::format("LOCAL_WORLD_SIZE is {}", plan.slots));
    if (local > rank) {
      fail<UsageError>(
          "LOCAL_RANK: '{}' is above RANK, which is {}: both count from 0, and RANK "
          "counts the ranks of all hosts",
          local, rank);
    }
    plan.is_agent = local == 0;
  }
  if (!is_set("MASTER_ADDR")) {
    fail<UsageError>(
        "MASTER_ADDR is not set, but RANK and WORLD_SIZE are; valid: the host of rank 0");
  }
  plan.meeting.address = variable(variables, "MASTER_ADDR");
  plan.meeting.port = number_in(variables, "MASTER_PORT", 1, 65535);
  plan.job = fmt::format("{} {} {} {}", describe(plan.meeting), ranks,
                         variable(variables, "TORCHELASTIC_RUN_ID"),
                         variable(variables, "TORCHELASTIC_RESTART_COUNT"));
  // There torchrun itself listens.
  const bool is_taken = variable(variables, "TORCHELASTIC_USE_AGENT_STORE") == "True";
  if (is_taken && plan.meeting.port < 65535) ++plan.meeting.port;
  for (int one = 0; one < ranks; ++one) plan.processes.push_back(fmt::format("rank {}", one));
  return plan;
}

}  // namespace scalebench
