// SPDX-License-Identifier: Apache-2.0
#include "bench/program/join/meeting.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <map>
#include <set>

#include "bench/cli/stderr.hpp"
#include "bench/program/join/handshake.hpp"
#include "kernels/json/parse_json.hpp"

namespace scalebench {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kBetweenTries{20};
constexpr std::chrono::seconds kToLeave{10};  // daemons that end late, and slow networks
constexpr int kFailed = 1;
constexpr int kMostNamed = 8;  // of those who are missing, and of strangers

/// Why nobody can be let in, after accept_from: who waits there goes on waiting, and would wake us
/// at once.
bool no_file_is_left() {
  return errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
}

}  // namespace

/// A process of the start as the first one knows it.
struct Meeting::Member {
  explicit Member(const Message& introduction)
      : process(number_in(introduction, "process", -1)),
        is_agent(flag_in(introduction, "agent")),
        host(text_in(introduction, "host")),
        name(text_in(introduction, "name")),
        machine(text_in(introduction, "machine")),
        slots(number_in(introduction, "slots", -1)),
        cores(number_in(introduction, "cores", -1)) {}

  int ranks() const { return slots > 0 ? slots : cores; }

  int process;
  bool is_agent;
  std::string host;  // as its environment calls it, or as it calls itself
  std::string name;  // as its kernel calls it
  std::string node;  // as mpirun is to call it; given once all are there
  std::string machine;
  int slots;  // 0: not said
  int cores;
  std::string peer;                     // its address
  std::optional<MessageStream> stream;  // none: the first process itself
};

/// Somebody who has not yet shown that he knows the key.
struct Meeting::Visitor {
  MessageStream stream;
  std::string nonce, peer;
  Clock::time_point until;
};

/// mpirun's stand-in for a remote shell, and the daemon that it asked for.
struct Meeting::Relay {
  MessageStream stream;
  int job = 0;
  std::string host;      // empty: it has not asked yet
  pid_t own_daemon = 0;  // where the host is this one
};

Meeting::Meeting(const JoinPlan& plan, const std::string& key, Say say, const Door& door)
    : plan_(plan),
      key_(key),
      say_(std::move(say)),
      door_(door),
      daemon_(own_daemon()),
      listener_(listen_at(plan.meeting.address, meeting_ports(plan.meeting))),
      relay_listener_(listen_locally(relay_name_)) {
  members_.emplace_back(introduction_of(plan)).is_agent = true;
  thread_ = std::thread([this] { serve(); });
}

Meeting::~Meeting() { goodbye(5); }

int Meeting::here() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(members_.size());
}

void Meeting::gather(std::chrono::milliseconds patience, const std::atomic<bool>& stop) {
  const Clock::time_point begin = Clock::now();
  while (!close_doors()) {
    if (stop || Clock::now() - begin > patience) {
      throw NotTogether(
          fmt::format("{} of {} processes ({}) have not come to {} within {:.0f} s: {}",
                      plan_.size() - here(), plan_.size(), plan_.source, describe(at()),
                      std::chrono::duration<double>(Clock::now() - begin).count(), missing()));
    }
    std::this_thread::sleep_for(kBetweenTries);
  }
}

/// Once all have come, from when on nobody may come and whoever leaves is lost; else false.
bool Meeting::close_doors() {
  const std::lock_guard lock(mutex_);
  if (static_cast<int>(members_.size()) < plan_.size()) return false;
  is_closed_ = true;
  name_nodes();
  return true;
}

/// Gives each agent's host a name of its own for mpirun. Throws NotTogether when the agents' hosts
/// take more or fewer ranks than there are processes, where the environment counts ranks.
void Meeting::name_nodes() {
  std::set<std::string> taken;
  int ranks = 0;
  bool is_counted = true;
  for (Member& member : members_) {
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
  const bool counts_ranks = plan_.source != "SM_HOSTS";
  if (!counts_ranks || (is_counted && ranks == plan_.size())) return;
  throw NotTogether(
      fmt::format("{}: the hosts' processes add up to {} ranks, not to {}: each host must say how "
                  "many are started on it",
                  plan_.source, ranks, plan_.size()));
}

/// Names of those who have not come: "rank 2, rank 3".
std::string Meeting::missing() const {
  const std::lock_guard lock(mutex_);
  std::string names;
  int count = 0;
  for (int process = 0; process < plan_.size(); ++process) {
    if (std::ranges::find(members_, process, &Member::process) != members_.end()) continue;
    if (count++ < kMostNamed) {
      names += fmt::format("{}{}", names.empty() ? "" : ", ",
                           plan_.processes[static_cast<std::size_t>(process)]);
    }
  }
  if (count > kMostNamed) names += fmt::format(" and {} more", count - kMostNamed);
  return names;
}

Hosts Meeting::hosts() const {
  const std::lock_guard lock(mutex_);
  Hosts hosts;
  for (const Member& member : members_) {
    if (member.is_agent) hosts.push_back({member.node, member.ranks()});
  }
  return hosts;
}

bool Meeting::is_crowded() const {
  const std::lock_guard lock(mutex_);
  std::map<std::string, int> ranks;
  for (const Member& member : members_) {
    if (!member.is_agent) continue;
    const std::string& machine = member.machine.empty() ? member.node : member.machine;
    if ((ranks[machine] += member.ranks()) > member.cores) return true;
  }
  return false;
}

/// The first two agents that have the same value, which is not empty; nothing when there are none.
std::string Meeting::two_alike(std::string Member::*value, std::string_view what) const {
  std::map<std::string, std::string> nodes;  // by value
  for (const Member& member : members_) {
    if (!member.is_agent || (member.*value).empty()) continue;
    const auto [there, is_new] = nodes.emplace(member.*value, member.node);
    if (!is_new) return fmt::format("{} and {} {}", there->second, member.node, what);
  }
  return "";
}

std::string Meeting::on_one_machine() const {
  const std::lock_guard lock(mutex_);
  return two_alike(&Member::machine, "are one machine");
}

std::string Meeting::of_one_name() const {
  const std::lock_guard lock(mutex_);
  return two_alike(&Member::name, "have one host name");
}

std::string Meeting::relay_command() const {
  // Without a blank, wherever the program lies: mpirun takes the command apart at blanks.
  return fmt::format("/proc/{}/exe {} {}", getpid(), kRelayWord, relay_name_);
}

std::string Meeting::lost() const {
  const std::lock_guard lock(mutex_);
  return lost_;
}

void Meeting::goodbye(int exit_code) {
  int nobody_has = -1;
  goodbye_.compare_exchange_strong(nobody_has, exit_code);
  if (thread_.joinable()) thread_.join();
}

// The thread: lets in who knows the key, passes mpirun's commands on to the agents and their ends
// back, notices who leaves, says goodbye.

void Meeting::serve() {
  daemons_.emplace(/*adopts=*/false);
  while (goodbye_ < 0) {
    wait_for_something();
    const std::lock_guard lock(mutex_);
    std::erase_if(visitors_, [this](Visitor& visitor) {
      return has_introduced_itself(visitor) || !visitor.stream.is_open() ||
             Clock::now() > visitor.until;
    });
    let_in();
    hear_members();
    hear_relays();
    report_own_daemons();
  }
  const std::lock_guard lock(mutex_);
  say_goodbye(goodbye_);
}

void Meeting::wait_for_something() const {
  // With a negative number it is passed over.
  std::vector<pollfd> waiting{{is_full_ ? -1 : listener_.socket.number(), POLLIN, 0},
                              {is_full_ ? -1 : relay_listener_.number(), POLLIN, 0}};
  const auto add = [&](const MessageStream& stream) {
    if (stream.is_open()) waiting.push_back({stream.descriptor(), POLLIN, 0});
  };
  for (const Member& member : members_) {
    if (member.stream) add(*member.stream);
  }
  for (const Visitor& visitor : visitors_) add(visitor.stream);
  for (const Relay& relay : relays_) add(relay.stream);
  poll(waiting.data(), waiting.size(), static_cast<int>(kTurn.count()));
}

void Meeting::let_in() {
  std::string peer;
  is_full_ = false;
  const int known = plan_.size();
  const auto most = static_cast<std::size_t>(known) + static_cast<std::size_t>(door_.strangers);
  for (std::size_t turn = 0; turn < most; ++turn) {
    Descriptor one = accept_from(listener_.socket, peer);
    if (!one.is_open()) {
      is_full_ = no_file_is_left();
      break;
    }
    if (visitors_.size() >= most) make_room();
    Visitor visitor{MessageStream(std::move(one)), random_hex(kNonceBytes), peer,
                    Clock::now() + door_.to_introduce};
    visitor.stream.send(greeting(visitor.nonce));
    visitors_.push_back(std::move(visitor));
  }
  if (is_full_) {
    for (std::size_t half = visitors_.size() / 2 + 1; half > 0; --half) make_room();
    say_of_strangers(
        fmt::format("{}: no file descriptor is left for who comes: ulimit -n", describe(at())));
  }
  while (true) {
    Descriptor one = accept_from(relay_listener_, peer);
    is_full_ = is_full_ || (!one.is_open() && no_file_is_left());
    if (!one.is_open()) break;
    if (is_same_user(one)) relays_.push_back({MessageStream(std::move(one)), next_job_++, "", 0});
  }
}

/// Who belongs here introduces itself at once, and has no crowd with it.
void Meeting::make_room() {
  std::map<std::string, int> from;
  for (const Visitor& visitor : visitors_) ++from[visitor.peer];
  const auto crowd = std::ranges::max_element(from, {}, &std::pair<const std::string, int>::second);
  if (crowd == from.end()) return;
  visitors_.erase(std::ranges::find(visitors_, crowd->first, &Visitor::peer));
}

/// For a line that others can cause as often as they like.
void Meeting::say_of_strangers(const std::string& line) {
  if (strangers_ > kMostNamed) return;
  say_(strangers_++ < kMostNamed ? line : "... and more of these, which are not said");
}

/// "rank 1 (h2, 10.0.0.2)".
std::string Meeting::who(const Member& member) const {
  const std::string& name = plan_.processes[static_cast<std::size_t>(member.process)];
  const std::string where = name.find(member.host) == std::string::npos ? member.host + ", " : "";
  return fmt::format("{} ({}{})", name, where, member.peer.empty() ? "here" : member.peer);
}

bool Meeting::has_introduced_itself(Visitor& visitor) {
  const auto introduction = visitor.stream.receive();
  if (!introduction) return false;
  if (!knows_key(*introduction, key_, visitor.nonce)) {
    say_of_strangers(fmt::format(
        "{} wanted to join at {} and was refused: it is of another job, or has not its secret",
        visitor.peer, describe(listener_.at)));
    return true;
  }
  Member member(*introduction);
  std::string why = is_closed_ ? "all have come, and ranks have been started" : "";
  const auto there = std::ranges::find(members_, member.process, &Member::process);
  if (member.process < 1 || member.process >= plan_.size() || member.slots < 0 ||
      member.cores < 1) {
    why = fmt::format("its {} does not fit in with the first process's", plan_.source);
  } else if (there != members_.end()) {
    why = fmt::format("{} is here already", who(*there));
  }
  visitor.stream.send(welcome(*introduction, key_, visitor.nonce, why));
  if (!why.empty()) return true;
  visitor.stream.sign(conversation_key(*introduction, key_, visitor.nonce), /*is_first=*/true);
  member.peer = visitor.peer;
  member.stream = std::move(visitor.stream);
  members_.insert(std::ranges::upper_bound(members_, member.process, {}, &Member::process),
                  std::move(member));
  return true;
}

void Meeting::hear_members() {
  for (Member& member : members_) {
    if (member.stream) hear(member);
  }
  // Until all are there, somebody who leaves may come again.
  const auto has_left = [](const Member& member) {
    return member.stream && !member.stream->is_open();
  };
  if (!is_closed_) std::erase_if(members_, has_left);
}

void Meeting::hear(Member& member) {
  const bool was_there = member.stream->is_open();
  while (const auto message = member.stream->receive()) {
    if (const int job = number_in(*message, "ended", -1); job >= 0) {
      end_relay(job, number_in(*message, "status", kFailed), text_in(*message, "said"));
    }
  }
  if (!was_there || member.stream->is_open() || !is_closed_) return;
  const std::string line = fmt::format("{} has left in the middle", who(member));
  say_(line);
  if (lost_.empty()) lost_ = line;
  if (!member.is_agent) return;
  for (Relay& relay : relays_) {
    if (relay.host == member.node) end_relay(relay.job, kFailed, line);
  }
}

void Meeting::hear_relays() {
  for (Relay& relay : relays_) {
    const auto request = relay.stream.receive();
    if (request && relay.host.empty()) ask(relay, *request);
    if (!relay.stream.is_open() && !relay.host.empty()) stop_daemon_of(relay);
  }
  std::erase_if(relays_, [](const Relay& relay) { return !relay.stream.is_open(); });
}

/// The agent of a host under any of its names; null when there is none.
Meeting::Member* Meeting::agent_of(const std::string& host) {
  const auto found = std::ranges::find_if(members_, [&](const Member& member) {
    return member.is_agent && (member.node == host || member.host == host);
  });
  return found == members_.end() ? nullptr : &*found;
}

void Meeting::ask(Relay& relay, const Message& request) {
  const std::string host = text_in(request, "host");
  Member* const agent = agent_of(host);
  if (agent == nullptr) {
    end_relay(relay.job, kFailed,
              fmt::format("{} has no process in this start ({})", host, plan_.source));
    return;
  }
  relay.host = agent->node;
  const DaemonRequest wanted = daemon_request_in(request);
  // Open MPI 5 takes two hosts of one name for one host.
  const std::string name = two_alike(&Member::name, "").empty() ? "" : agent->node;
  if (agent->stream) {
    if (!agent->stream->is_open()) {
      end_relay(relay.job, kFailed, fmt::format("{} has left", who(*agent)));
    } else {
      agent->stream->send({{"start", relay.job},
                           {"daemon", wanted.name},
                           {"arguments", wanted.arguments},
                           {"name", name}});
    }
    return;
  }
  try {
    // mpirun does not know the name that the environment has for its own host.
    relay.own_daemon = daemons_->start(own_daemon_command(daemon_, wanted), name);
  } catch (const std::exception& error) {
    end_relay(relay.job, kFailed, error.what());
  }
}

void Meeting::stop_daemon_of(Relay& relay) {
  Member* const agent = agent_of(relay.host);
  if (relay.own_daemon != 0) {
    daemons_->stop(relay.own_daemon);
  } else if (agent != nullptr && agent->stream) {
    agent->stream->send({{"stop", relay.job}});
  }
}

void Meeting::report_own_daemons() {
  for (const Daemons::Ended& one : daemons_->ended()) {
    const auto relay = std::ranges::find(relays_, one.daemon, &Relay::own_daemon);
    if (relay != relays_.end()) end_relay(relay->job, one.status, "");
  }
}

void Meeting::end_relay(int job, int status, const std::string& said) {
  const auto relay = std::ranges::find(relays_, job, &Relay::job);
  if (relay == relays_.end()) return;
  relay->stream.send({{"ended", true}, {"status", status}, {"said", said}});
  relay->host.clear();
  relay->own_daemon = 0;
}

void Meeting::say_goodbye(int exit_code) {
  daemons_->end_all(kGrace);
  for (Member& member : members_) {
    if (member.stream) member.stream->send({{"goodbye", exit_code}});
  }
  // They close when they have read it and nothing of theirs is left.
  const Clock::time_point deadline = Clock::now() + kToLeave;
  for (Member& member : members_) {
    while (member.stream && member.stream->is_open() && Clock::now() < deadline) {
      member.stream->receive_within(kTurn);
    }
  }
}

DaemonRequest daemon_request_in(const Message& message) {
  DaemonRequest request{text_in(message, "daemon"), {}};
  if (const auto words = message.find("arguments"); words != message.end() && words->is_array()) {
    for (const Message& word : *words) request.arguments.push_back(word.is_string() ? word : "");
  }
  return request;
}

int relay(const std::vector<std::string>& words) {
  if (words.size() < 3) return kIncomplete;
  // mpirun prints the line among its own; `rank` is what those look for who read its log.
  const auto tell = [&](const std::string& what) {
    print_line(fmt::format("rank daemon of {}: {}", words[1], what));
  };
  try {
    MessageStream first(connect_locally(words[0]));
    if (first.descriptor() < 0) {
      tell("the process that started mpirun is gone");
      return kIncomplete;
    }
    const DaemonRequest wanted = daemon_request({words.begin() + 2, words.end()});
    first.send({{"host", words[1]}, {"daemon", wanted.name}, {"arguments", wanted.arguments}});
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

}  // namespace scalebench
