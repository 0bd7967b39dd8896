// SPDX-License-Identifier: Apache-2.0
// MPICH's mpiexec (Hydra). It has no option for a longest time: run_launch ends it, and ranks of a
// lost proxy end with it.
#include "bench/study/launcher.hpp"

namespace scalebench {

std::vector<std::string> mpich_words(const PlannedLaunch& launch, const LaunchSettings& settings,
                                     const Hosts& hosts) {
  std::vector<std::string> words{settings.mpirun, "-n", std::to_string(launch.ranks)};
  if (!hosts.empty()) {
    std::string names;
    for (const Host& host : hosts) names += (names.empty() ? "" : ",") + host.name;
    words.insert(words.end(), {"-hosts", names, "-ppn", std::to_string(launch.per_node)});
  }
  const bool binds = settings.bind_to_core && !settings.oversubscribe;
  words.insert(words.end(), {"-bind-to", binds ? "core" : "none"});
  for (const auto& [name, value] : variables_for_ranks(settings)) {
    words.insert(words.end(), {"-genv", name, value});
  }
  return words;
}

}  // namespace scalebench
