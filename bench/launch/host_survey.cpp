// SPDX-License-Identifier: Apache-2.0
#include "bench/launch/host_survey.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <future>
#include <set>

#include "bench/launch/process.hpp"
#include "bench/machine/environment.hpp"
#include "bench/record/result_row.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

constexpr std::size_t kProbesAtOnce = 16;
constexpr std::size_t kHostsASecond = 8;  // by which a launcher may be slower to start on many

struct Answer {
  std::vector<Identity> identities;  // by host; empty: it failed
  std::string why;
};

Answer ask_hosts(LaunchSettings settings, const Hosts& hosts, const std::string& program,
                 int patience_seconds) {
  settings.hosts = hosts;
  settings.bind_to_core = settings.oversubscribe = false;
  PlannedLaunch launch;
  launch.ranks = launch.nodes = static_cast<int>(hosts.size());
  std::vector<std::string> command{"env"};
  for (const auto& [name, value] : settings.environment) {
    command.push_back(fmt::format("{}={}", name, value));
  }
  for (const std::string& word : launcher_named(settings.launcher).words(launch, settings, hosts)) {
    command.push_back(word);
  }
  command.insert(command.end(), settings.mpirun_arguments.begin(), settings.mpirun_arguments.end());
  command.insert(command.end(), {(settings.programs / program).string(), "--places"});
  const int patience = patience_seconds + static_cast<int>(hosts.size() / kHostsASecond);
  CommandAnswer said = ask(command, patience);
  for (int again = 0; again < 2 && !said.answered && lost_its_folder(said.output); ++again) {
    said = ask(command, patience);
  }
  Answer answer{.identities = identities_in(said.output), .why = {}};
  const bool all = said.answered && answer.identities.size() == hosts.size();
  if (all) return answer;
  const std::string why = said_in(said.output);
  return {.identities = {}, .why = why.empty() ? "no answer" : why};
}

/// Each host alone, some at a time.
std::vector<Answer> probe(const LaunchSettings& settings, const Hosts& hosts,
                          const std::string& program, int patience_seconds) {
  std::vector<Answer> answers;
  for (std::size_t begin = 0; begin < hosts.size(); begin += kProbesAtOnce) {
    std::vector<std::future<Answer>> running;
    for (std::size_t i = begin; i < std::min(hosts.size(), begin + kProbesAtOnce); ++i) {
      running.push_back(std::async(std::launch::async, ask_hosts, settings, Hosts{hosts[i]},
                                   program, patience_seconds));
    }
    for (std::future<Answer>& one : running) answers.push_back(one.get());
  }
  return answers;
}

void drop(SurveyedHost& host, std::string_view status, const std::string& why) {
  host.status = status;
  host.note = fmt::format("host {} is left out: {}", host.host.name, why);
}

/// Asks all hosts together, and where that fails each alone, which shows whom to leave out.
void survey_program(HostSurvey& survey, const LaunchSettings& settings, const std::string& program,
                    int patience_seconds) {
  const auto asked = [&] {
    std::vector<SurveyedHost*> usable;
    for (SurveyedHost& host : survey.hosts) {
      if (host.usable()) usable.push_back(&host);
    }
    return usable;
  };
  std::vector<SurveyedHost*> hosts = asked();
  Answer together = ask_hosts(settings, survey.usable(), program, patience_seconds);
  if (together.identities.empty()) {
    const std::vector<Answer> alone =
        hosts.size() == 1 ? std::vector{together}
                          : probe(settings, survey.usable(), program, patience_seconds);
    for (std::size_t i = 0; i < hosts.size(); ++i) {
      if (!alone[i].identities.empty()) continue;
      drop(*hosts[i], "unreachable",
           fmt::format("{} does not start there: {}", program, alone[i].why));
    }
    hosts = asked();
    if (hosts.empty()) return;
    together = ask_hosts(settings, survey.usable(), program, patience_seconds);
    if (together.identities.empty()) {
      fail<UsageError>("{} of the hosts answer {} each alone, but not together: {}", hosts.size(),
                       program, together.why);
    }
  }
  // Slurm numbers nodes in its own order, and each calls itself as Slurm does.
  const bool by_name = settings.launcher == "slurm";
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const auto own = std::ranges::find(together.identities, hosts[i]->host.name, &Identity::host);
    const bool knows = by_name && own != together.identities.end();
    hosts[i]->identities.push_back(knows ? *own : together.identities[i]);
  }
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

int devices_on(const Identity& identity, const LaunchSettings& settings) {
  if (settings.device != "cpu" && identity.gpus > 0) return identity.gpus;
  return std::max(1, identity.cores / settings.threads);
}

}  // namespace

Hosts HostSurvey::usable() const {
  Hosts usable;
  for (const SurveyedHost& one : hosts) {
    if (one.usable()) usable.push_back(one.host);
  }
  return usable;
}

std::string HostSurvey::one_machine() const {
  std::map<std::string, std::vector<std::string>> by_boot;
  for (const SurveyedHost& one : hosts) {
    if (!one.usable() || one.identities.empty() || one.identities.front().boot_id.empty()) continue;
    by_boot[one.identities.front().boot_id].push_back(one.host.name);
  }
  for (const auto& [boot, names] : by_boot) {
    if (names.size() > 1) return fmt::format("{} are one machine", fmt::join(names, " and "));
  }
  return {};
}

std::vector<std::string> HostSurvey::differences() const {
  std::map<std::string, std::map<std::string, std::vector<std::string>>> fields;  // value: hosts
  for (const SurveyedHost& one : hosts) {
    if (!one.usable() || one.identities.empty()) continue;
    for (const auto& [field, value] : one.identities.front().hardware) {
      fields[field][value].push_back(one.host.name);
    }
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

HostSurvey survey_hosts(const LaunchSettings& settings,
                        const std::map<std::string, std::string>& binaries, int patience_seconds) {
  HostSurvey survey;
  for (const Host& host : settings.hosts) survey.hosts.push_back({host, "ok", "", {}});
  for (const auto& [program, hash] : binaries) {
    if (survey.usable().empty()) break;
    survey_program(survey, settings, program, patience_seconds);
  }
  leave_out_different(survey, binaries);
  return survey;
}

void leave_out_different(HostSurvey& survey, const std::map<std::string, std::string>& binaries) {
  const SurveyedHost* first = nullptr;
  for (SurveyedHost& host : survey.hosts) {
    for (std::size_t i = 0; i < host.identities.size() && host.usable(); ++i) {
      const Identity& there = host.identities[i];
      const Identity& compared = first == nullptr ? there : first->identities.at(i);
      const std::string what = difference(there, binaries.at(there.program), compared);
      if (!what.empty()) drop(host, "different", what);
    }
    if (first == nullptr && host.usable()) first = &host;
  }
}

void require_places(const HostSurvey& survey, const std::vector<PlannedLaunch>& plan,
                    const LaunchSettings& settings) {
  if (settings.oversubscribe) return;
  LaunchSettings left = settings;
  left.hosts = survey.usable();
  for (const PlannedLaunch& launch : plan) {
    if (!launch.skipped_because.empty() || launch.nodes > static_cast<int>(left.hosts.size())) {
      continue;
    }
    for (const SurveyedHost& one : survey.hosts) {
      if (!one.usable() || one.host.slots < launch.per_node || one.identities.empty()) continue;
      const int devices = devices_on(one.identities.front(), settings);
      if (launch.per_node <= devices) continue;
      fail<UsageError>(
          "host {}: {} ranks on the {} core(s) or device(s) there; give it {} slots, or use "
          "--oversubscribe, which marks every row emulated",
          one.host.name, launch.per_node, devices, devices);
    }
  }
}

std::string settle(LaunchSettings& settings, const HostSurvey& survey,
                   const std::vector<PlannedLaunch>& plan) {
  settings.hosts = survey.usable();
  require_places(survey, plan, settings);
  std::string machine = survey.one_machine();
  if (machine.empty() || says_emulated(settings)) return {};
  settings.environment.emplace_back(kEmulatedVariable, machine);
  settings.bind_to_core = false;  // each of them would begin with the machine's first core
  return machine;
}

std::vector<FoundHost> found_hosts(const HostSurvey& survey) {
  std::vector<FoundHost> hosts;
  for (const SurveyedHost& one : survey.hosts) {
    FoundHost& host = hosts.emplace_back(FoundHost{
        .host = one.host.name, .slots = one.host.slots, .found = one.status, .note = one.note});
    for (const Identity& identity : one.identities) {
      host.name = identity.host;
      host.boot_id = identity.boot_id;
      host.cores = identity.cores;
      host.gpus = identity.gpus;
      host.binaries[identity.program] = identity.sha256;
      host.libraries.insert(identity.libraries.begin(), identity.libraries.end());
    }
  }
  return hosts;
}

std::string misplaced(const std::vector<RankPlace>& places, const PlannedLaunch& launch,
                      const std::vector<FoundHost>& hosts) {
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
