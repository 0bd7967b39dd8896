// SPDX-License-Identifier: Apache-2.0
// Open MPI's mpirun. Several hosts: blocks of ranks by -H and ppr, a cut link noticed within
// seconds by keepalive probes (without them a launch hangs for ever, whatever the program does),
// and --timeout should even mpirun itself not notice.
#include <fmt/format.h>

#include "bench/study/launcher.hpp"
#include "bench/study/launcher/open_mpi_settings.hpp"

namespace scalebench {
namespace {

using Words = std::vector<std::string>;

template <class More = Words>
void add(Words& words, const More& more) {
  words.insert(words.end(), more.begin(), more.end());
}

void add_hosts(Words& words, const PlannedLaunch& launch, const Hosts& hosts) {
  Hosts slots = hosts;
  for (Host& host : slots) host.slots = launch.per_node;
  add(words, {"-H", host_words(slots), "--map-by", fmt::format("ppr:{}:node", launch.per_node)});
}

}  // namespace

Words open_mpi_words(const PlannedLaunch& launch, const LaunchSettings& settings,
                     const Hosts& hosts) {
  Words words{settings.mpirun, "-np", std::to_string(launch.ranks)};
  if (!hosts.empty()) add_hosts(words, launch, hosts);
  if (settings.oversubscribe) {
    add(words, {"--oversubscribe", "--bind-to", "none"});
    add(words, kYieldWords);
  } else {
    add(words, {"--bind-to", settings.bind_to_core ? "core" : "none"});
  }
  if (!hosts.empty()) {
    for (const auto& [name, value] : variables_for_ranks(settings)) add(words, {"-x", name});
  }
  if (hosts.size() > 1) {
    add(words, kKeepaliveWords);
    add(words, {"--timeout", std::to_string(backstop_seconds(launch))});
  }
  return words;
}

}  // namespace scalebench
