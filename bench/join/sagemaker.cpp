// SPDX-License-Identifier: Apache-2.0
// SM_HOSTS, SM_CURRENT_HOST, SM_NUM_GPUS: one process in the container of each host, the first of
// which by name starts the ranks. MASTER_PORT changes the port.
#include <fmt/ranges.h>

#include <algorithm>

#include "bench/join/join_plan.hpp"
#include "bench/record/managed_job.hpp"

namespace scalebench {
namespace {

constexpr int kPort = 7777;  // where the service's own starter of PyTorch meets

}  // namespace

std::optional<JoinPlan> sagemaker_plan(const EnvironmentVariables& variables) {
  JobVariables said;
  for (const char* const name : {"SM_HOSTS", "SM_CURRENT_HOST", "SM_NUM_GPUS"}) {
    if (const auto found = variables.find(name); found != variables.end()) said.insert(*found);
  }
  const std::optional<ManagedJob> job = managed_job(said);
  if (!job || job->hosts.size() < 2) return std::nullopt;
  JoinPlan plan;
  plan.source = "SM_HOSTS";
  plan.processes = job->hosts;
  plan.process =
      static_cast<int>(std::ranges::find(job->hosts, job->current_host) - job->hosts.begin());
  plan.host = job->current_host;
  plan.slots = job->gpus.value_or(0);
  plan.meeting = chosen_meeting(variables, {job->hosts.front(), kPort});
  plan.job = fmt::format("{}", fmt::join(job->hosts, ","));
  return plan;
}

}  // namespace scalebench
