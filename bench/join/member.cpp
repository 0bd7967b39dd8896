// SPDX-License-Identifier: Apache-2.0
#include "bench/join/member.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "bench/join/host_facts.hpp"
#include "bench/join/meeting.hpp"
#include "bench/record/boot_id.hpp"

namespace scalebench {
namespace {

constexpr int kMostNamed = 8;

bool has_come(const Members& members, int process) {
  return std::ranges::find(members, process, &Member::process) != members.end();
}

}  // namespace

Member first_member(const JoinPlan& plan) {
  Member first;
  first.is_agent = true;
  first.host = plan.host.empty() ? own_host_name() : plan.host;
  first.machine = boot_id();
  first.slots = plan.slots;
  first.cores = own_cores();
  return first;
}

Member introduced_member(const Message& introduction, const JoinPlan& plan, const Members& members,
                         std::string& why) {
  Member member;
  member.process = number_in(introduction, "process", -1);
  member.is_agent = flag_in(introduction, "agent");
  member.host = text_in(introduction, "host");
  member.machine = text_in(introduction, "machine");
  member.slots = number_in(introduction, "slots", -1);
  member.cores = number_in(introduction, "cores", -1);
  if (member.process < 1 || member.process >= plan.size() || member.slots < 0 || member.cores < 1) {
    why = fmt::format("its {} does not fit in with the first process's", plan.source);
  } else if (has_come(members, member.process)) {
    const auto there = std::ranges::find(members, member.process, &Member::process);
    why = fmt::format("{} is here already", describe(*there, plan));
  }
  return member;
}

std::string describe(const Member& member, const JoinPlan& plan) {
  const std::string& name = plan.processes[static_cast<std::size_t>(member.process)];
  const std::string where = name.find(member.host) == std::string::npos ? member.host + ", " : "";
  return fmt::format("{} ({}{})", name, where, member.peer.empty() ? "here" : member.peer);
}

std::string missing(const Members& members, const JoinPlan& plan) {
  std::string names;
  int count = 0;
  for (int process = 0; process < plan.size(); ++process) {
    if (has_come(members, process)) continue;
    if (count++ < kMostNamed) {
      names += fmt::format("{}{}", names.empty() ? "" : ", ",
                           plan.processes[static_cast<std::size_t>(process)]);
    }
  }
  if (count > kMostNamed) names += fmt::format(" and {} more", count - kMostNamed);
  return names;
}

void name_nodes(Members& members, const JoinPlan& plan) {
  std::set<std::string> taken;
  int ranks = 0;
  bool is_counted = true;
  for (Member& member : members) {
    if (!member.is_agent) continue;
    ranks += member.slots;
    is_counted = is_counted && member.slots > 0;
    const std::string plain = plain_host_name(member.host);
    member.node = plain;
    // Containers may all have the same name.
    for (int number = 2; !taken.insert(member.node).second; ++number) {
      member.node = fmt::format("{}-{}", plain, number);
    }
  }
  const bool counts_ranks = plan.source != "SM_HOSTS";
  if (!counts_ranks || (is_counted && ranks == plan.size())) return;
  throw NotTogether(
      fmt::format("{}: the hosts' processes add up to {} ranks, not to {}: each host must say how "
                  "many are started on it",
                  plan.source, ranks, plan.size()));
}

Hosts hosts_of(const Members& members) {
  Hosts hosts;
  for (const Member& member : members) {
    if (member.is_agent) hosts.push_back({member.node, member.ranks()});
  }
  return hosts;
}

std::string on_one_machine(const Members& members) {
  std::map<std::string, std::string> nodes;  // by machine
  for (const Member& member : members) {
    if (!member.is_agent || member.machine.empty()) continue;
    const auto [there, is_new] = nodes.emplace(member.machine, member.node);
    if (!is_new) return fmt::format("{} and {} are one machine", there->second, member.node);
  }
  return "";
}

bool is_crowded(const Members& members) {
  std::map<std::string, int> ranks;
  for (const Member& member : members) {
    if (!member.is_agent) continue;
    const std::string& machine = member.machine.empty() ? member.node : member.machine;
    if ((ranks[machine] += member.ranks()) > member.cores) return true;
  }
  return false;
}

Member* agent_of(Members& members, const std::string& host) {
  const auto is_agent = [&](const Member& member) {
    return member.is_agent && (member.node == host || member.host == host);
  };
  const auto found = std::ranges::find_if(members, is_agent);
  return found == members.end() ? nullptr : &*found;
}

}  // namespace scalebench
