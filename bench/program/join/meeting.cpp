// SPDX-License-Identifier: Apache-2.0
#include "bench/program/join/meeting.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <thread>

#include "bench/machine/identity.hpp"
#include "bench/program/join/daemons.hpp"
#include "bench/program/join/handshake.hpp"
#include "bench/program/join/meeting_server.hpp"

namespace scalebench {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kBetweenTries{20};

}  // namespace

Meeting::Meeting(const JoinPlan& plan, const std::string& key, Say say)
    : server_(std::make_unique<Server>(plan, key, std::move(say))) {}

Meeting::~Meeting() = default;

const Endpoint& Meeting::at() const { return server_->at(); }

int Meeting::here() const { return server_->come(); }

void Meeting::gather(std::chrono::milliseconds patience, const std::atomic<bool>& stop) {
  const Clock::time_point begin = Clock::now();
  while (!server_->close_doors()) {
    if (stop || Clock::now() - begin > patience) {
      throw NotTogether(fmt::format(
          "{} of {} processes ({}) have not come to {} within {:.0f} s: {}",
          server_->plan().size() - server_->come(), server_->plan().size(), server_->plan().source,
          describe(at()), std::chrono::duration<double>(Clock::now() - begin).count(),
          server_->who_is_missing()));
    }
    std::this_thread::sleep_for(kBetweenTries);
  }
}

Hosts Meeting::hosts() const { return server_->hosts(); }
bool Meeting::is_crowded() const { return server_->is_crowded(); }
std::string Meeting::on_one_machine() const { return server_->on_one_machine(); }
std::string Meeting::of_one_name() const { return server_->of_one_name(); }
std::string Meeting::lost() const { return server_->lost(); }
void Meeting::goodbye(int exit_code) { server_->goodbye(exit_code); }

std::string Meeting::relay_command() const {
  // Without a blank, wherever the program lies: mpirun takes the command apart at blanks.
  return fmt::format("/proc/{}/exe {} {}", getpid(), kRelayWord, server_->relay_name());
}

int relay(const std::vector<std::string>& words) {
  if (words.size() < 3) return kIncomplete;
  // mpirun prints the line among its own; `rank` is what those look for who read its log.
  const auto tell = [&](const std::string& what) {
    fmt::print(stderr, "rank daemon of {}: {}\n", words[1], what);
  };
  try {
    MessageStream first(connect_locally(words[0]));
    if (first.descriptor() < 0) {
      tell("the process that started mpirun is gone");
      return kIncomplete;
    }
    first.send({{"host", words[1]}, {"argv", daemon_command({words.begin() + 2, words.end()})}});
    while (first.is_open()) {
      const auto message = first.receive_within(std::chrono::hours(1));
      if (!message || !flag_in(*message, "ended")) continue;
      if (const std::string said = text_in(*message, "said"); !said.empty()) tell(said);
      return number_in(*message, "status", kIncomplete);
    }
    // mpirun does not wait for its remote shells: at the end of all this may be the last to know.
  } catch (const std::exception& error) {
    tell(error.what());
  }
  return kIncomplete;
}

namespace {

constexpr int kMostNamed = 8;

bool has_come(const Members& members, int process) {
  return std::ranges::find(members, process, &Member::process) != members.end();
}

/// The first two agents that have the same value, which is not empty; nothing when there are none.
std::string two_alike(const Members& members, std::string Member::*value, std::string_view what) {
  std::map<std::string, std::string> nodes;  // by value
  for (const Member& member : members) {
    if (!member.is_agent || (member.*value).empty()) continue;
    const auto [there, is_new] = nodes.emplace(member.*value, member.node);
    if (!is_new) return fmt::format("{} and {} {}", there->second, member.node, what);
  }
  return "";
}

}  // namespace

Member first_member(const JoinPlan& plan) {
  Member first;
  first.is_agent = true;
  first.host = plan.host.empty() ? own_host_name() : plan.host;
  first.name = own_host_name();
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
  member.name = text_in(introduction, "name");
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
  return two_alike(members, &Member::machine, "are one machine");
}

std::string of_one_name(const Members& members) {
  return two_alike(members, &Member::name, "have one host name");
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
