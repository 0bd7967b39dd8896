// SPDX-License-Identifier: Apache-2.0
// Slurm's srun, inside an allocation. -K1: without it a step whose rank was killed waits for ever.
// srun hands all variables on by itself.
#include <fmt/format.h>

#include "bench/study/launcher.hpp"

namespace scalebench {

std::vector<std::string> slurm_words(const PlannedLaunch& launch, const LaunchSettings& settings,
                                     const Hosts& hosts) {
  const int nodes = hosts.empty() ? 1 : launch.nodes;
  const int per_node = hosts.empty() ? launch.ranks : launch.per_node;
  std::vector<std::string> words{settings.mpirun,
                                 settings.mpi == "MPICH" ? "--mpi=pmi2" : "--mpi=pmix",
                                 "-K1",
                                 "-N",
                                 std::to_string(nodes),
                                 "-n",
                                 std::to_string(launch.ranks),
                                 fmt::format("--ntasks-per-node={}", per_node),
                                 "--distribution=block"};
  if (!hosts.empty()) {
    std::string names;
    for (const Host& host : hosts) names += (names.empty() ? "" : ",") + host.name;
    words.push_back(fmt::format("--nodelist={}", names));
  }
  if (settings.oversubscribe) words.emplace_back("--overcommit");
  const bool binds = settings.bind_to_core && !settings.oversubscribe;
  words.push_back(fmt::format("--cpu-bind={}", binds ? "cores" : "none"));
  const int minutes = (backstop_seconds(launch) + 59) / 60;
  words.push_back(fmt::format("--time={}", minutes));
  return words;
}

}  // namespace scalebench
