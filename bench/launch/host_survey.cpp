// SPDX-License-Identifier: Apache-2.0
#include "bench/launch/host_survey.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <future>
#include <set>

#include "bench/launch/process.hpp"
#include "bench/machine/environment.hpp"
#include "bench/record/result_row.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

constexpr int kPatienceSeconds = 30;
constexpr std::size_t kProbesAtOnce = 16;
constexpr std::size_t kHostsASecond = 8;  // by which a launcher may be slower to start on many

struct Answer {
  std::vector<Identity> identities;  // by host; empty: it failed
  std::string why;
};

Answer ask_hosts(LaunchSettings settings, const Hosts& hosts, const std::string& program) {
  settings.hosts = hosts;
  settings.bind_to_core = settings.oversubscribe = false;
  PlannedLaunch launch;
  launch.ranks = launch.nodes = static_cast<int>(hosts.size());
  launch.program = program;
  launch.arguments = {"--places"};
  const std::vector<std::string> command = started_by(launch, settings);
  const int patience = kPatienceSeconds + static_cast<int>(hosts.size() / kHostsASecond);
  CommandAnswer said = ask(command, patience, settings.environment);
  for (int again = 0; again < 2 && !said.answered && lost_its_folder(said.output); ++again) {
    said = ask(command, patience, settings.environment);
  }
  Answer answer{.identities = identities_in(said.output), .why = said_in(said.output)};
  if (!said.answered || answer.identities.size() != hosts.size()) answer.identities.clear();
  if (answer.why.empty()) answer.why = "no answer";
  return answer;
}

/// Each host alone, some at a time.
std::vector<Answer> probe(const LaunchSettings& settings, const Hosts& hosts,
                          const std::string& program) {
  std::vector<Answer> answers;
  for (std::size_t begin = 0; begin < hosts.size(); begin += kProbesAtOnce) {
    std::vector<std::future<Answer>> running;
    for (std::size_t i = begin; i < std::min(hosts.size(), begin + kProbesAtOnce); ++i) {
      running.push_back(
          std::async(std::launch::async, ask_hosts, settings, Hosts{hosts[i]}, program));
    }
    for (std::future<Answer>& one : running) answers.push_back(one.get());
  }
  return answers;
}

void drop(FoundHost& host, std::string_view found, const std::string& why) {
  host.found = found;
  host.note = fmt::format("host {} is left out: {}", host.host, why);
}

/// Asks all hosts together, and where that fails each alone, which shows whom to leave out.
void survey_program(FoundHosts& hosts, const LaunchSettings& settings, const std::string& program,
                    const std::string& sha256) {
  Hosts asked = usable(hosts);
  Answer together = ask_hosts(settings, asked, program);
  if (together.identities.empty()) {
    const std::vector<Answer> answers = probe(settings, asked, program);
    auto alone = answers.begin();
    for (FoundHost& host : hosts) {
      if (host.found != "ok") continue;
      const Answer& answer = *alone++;
      if (!answer.identities.empty()) continue;
      drop(host, "unreachable", fmt::format("{} does not start there: {}", program, answer.why));
    }
    asked = usable(hosts);
    if (asked.empty()) return;
    together = ask_hosts(settings, asked, program);
  }
  if (together.identities.empty()) {
    fail<UsageError>("{} of the hosts answer {} each alone, but not together: {}", asked.size(),
                     program, together.why);
  }
  // Slurm numbers nodes in its own order, and each calls itself as Slurm does.
  std::vector<Identity> in_order = together.identities;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const auto own = std::ranges::find(together.identities, asked[i].name, &Identity::host);
    if (own != together.identities.end()) in_order[i] = *own;
  }
  enter(hosts, in_order, sha256);
}

std::string short_hash(const std::string& hash) { return hash.substr(0, 12); }

std::string difference(const Identity& there, const std::string& hash, const Identity& first) {
  if (there.sha256 != hash) {
    return fmt::format("its {} is another build: SHA-256 {} there, {} here", there.program,
                       short_hash(there.sha256), short_hash(hash));
  }
  const auto text = [](const Identity& one, const std::string& name) {
    const auto found = one.libraries.find(name);
    return found == one.libraries.end() ? std::string("none") : found->second;
  };
  std::map<std::string, std::string> names = first.libraries;
  names.insert(there.libraries.begin(), there.libraries.end());
  for (const auto& [name, any] : names) {
    if (text(there, name) == text(first, name)) continue;
    return fmt::format("its {} for {} is {}, on {} it is {}", name, there.program,
                       text(there, name), first.host, text(first, name));
  }
  return {};
}

int devices_on(const FoundHost& host, const LaunchSettings& settings) {
  if (settings.device != "cpu" && host.gpus > 0) return host.gpus;
  return std::max(1, host.cores / settings.threads);
}

}  // namespace

FoundHosts survey_hosts(const LaunchSettings& settings,
                        const std::map<std::string, std::string>& binaries,
                        const EnvironmentVariables& variables) {
  const auto place = process_place(variables);
  for (const auto& [name, value] : variables) {
    if (place && name.starts_with("SLURM_")) unsetenv(name.c_str());
  }
  FoundHosts hosts;
  for (const Host& host : settings.hosts) hosts.push_back({.host = host.name, .slots = host.slots});
  for (const auto& [program, sha256] : binaries) {
    if (!usable(hosts).empty()) survey_program(hosts, settings, program, sha256);
  }
  for (std::size_t i = 1; place && i < hosts.size(); ++i) {
    if (hosts[i].found != "unreachable") continue;
    fail<UsageError>("{}: no rank can be started on {}: {}; {}", place->source, hosts[i].host,
                     hosts[i].note.substr(hosts[i].note.find(": ") + 2), remedy_on(variables));
  }
  return hosts;
}

Hosts usable(const FoundHosts& hosts) {
  Hosts usable;
  for (const FoundHost& one : hosts) {
    if (one.found == "ok") usable.push_back({one.host, one.slots});
  }
  return usable;
}

void enter(FoundHosts& hosts, const std::vector<Identity>& identities, const std::string& sha256) {
  const Identity* first = nullptr;
  auto said = identities.begin();
  for (FoundHost& host : hosts) {
    if (host.found != "ok") continue;
    const Identity& there = *said++;
    host.name = there.host;
    host.boot_id = there.boot_id;
    host.cores = there.cores;
    host.gpus = there.gpus;
    host.binaries[there.program] = there.sha256;
    host.libraries.insert(there.libraries.begin(), there.libraries.end());
    host.hardware = there.hardware;
    const std::string what = difference(there, sha256, first == nullptr ? there : *first);
    if (!what.empty()) drop(host, "different", what);
    if (first == nullptr && what.empty()) first = &there;
  }
}

std::string one_machine(const FoundHosts& hosts) {
  std::map<std::string, std::vector<std::string>> by_boot;
  for (const FoundHost& one : hosts) {
    if (one.found == "ok" && !one.boot_id.empty()) by_boot[one.boot_id].push_back(one.host);
  }
  for (const auto& [boot, names] : by_boot) {
    if (names.size() > 1) return fmt::format("{} are one machine", fmt::join(names, " and "));
  }
  return {};
}

std::vector<std::string> differences(const FoundHosts& hosts) {
  std::map<std::string, std::map<std::string, std::vector<std::string>>> fields;  // value: hosts
  for (const FoundHost& one : hosts) {
    if (one.found != "ok") continue;
    for (const auto& [field, value] : one.hardware) fields[field][value].push_back(one.host);
  }
  std::vector<std::string> lines;
  for (const auto& [field, values] : fields) {
    if (values.size() < 2) continue;
    std::vector<std::string> parts;
    for (const auto& [value, names] : values) {
      parts.push_back(fmt::format("{} on {}", value, fmt::join(names, " and ")));
    }
    lines.push_back(fmt::format("{}: {}", field, fmt::join(parts, ", ")));
  }
  return lines;
}

std::string settle(LaunchSettings& settings, const FoundHosts& hosts,
                   const std::vector<PlannedLaunch>& plan) {
  settings.hosts = usable(hosts);
  for (const PlannedLaunch& launch : plan) {
    const bool starts =
        launch.skipped_because.empty() && std::ssize(settings.hosts) >= launch.nodes;
    if (settings.oversubscribe || !starts) continue;
    for (const FoundHost& one : hosts) {
      const int devices = devices_on(one, settings);
      if (one.found != "ok" || one.slots < launch.per_node || launch.per_node <= devices) continue;
      fail<UsageError>(
          "host {}: {} ranks on the {} core(s) or device(s) there; give it {} slots, or use "
          "--oversubscribe, which marks every row emulated",
          one.host, launch.per_node, devices, devices);
    }
  }
  std::string machine = one_machine(hosts);
  if (machine.empty() || says_emulated(settings)) return {};
  settings.environment.emplace_back(kEmulatedVariable, machine);
  settings.bind_to_core = false;  // each of them would begin with the machine's first core
  return machine;
}

std::string misplaced(const std::vector<RankPlace>& places, const PlannedLaunch& launch,
                      const FoundHosts& hosts) {
  const auto ranks = static_cast<std::size_t>(launch.ranks);
  const auto per_node = static_cast<std::size_t>(launch.per_node);
  if (places.size() != ranks) {
    return fmt::format("{} ranks were asked for, {} took part", ranks, places.size());
  }
  // Containers and copied machines may all call themselves the same.
  std::set<std::string> names, taken;
  const bool tells_hosts_apart = std::ranges::all_of(hosts, [&](const FoundHost& host) {
    return host.name.empty() || names.insert(host.name).second;
  });
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const std::string& host = places[rank].host;
    if (rank % per_node == 0) {
      if (taken.insert(host).second || !tells_hosts_apart) continue;
      return fmt::format("rank {} ran on {}, where {} ranks were before it", rank, host, per_node);
    }
    if (const std::string& block = places[rank - 1].host; host != block) {
      return fmt::format("rank {} ran on {}, but was asked to be on {} with rank {}", rank, host,
                         block, rank - 1);
    }
  }
  return {};
}

}  // namespace scalebench
