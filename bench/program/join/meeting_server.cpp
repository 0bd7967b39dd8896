// SPDX-License-Identifier: Apache-2.0
#include "bench/program/join/meeting_server.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>

#include "bench/program/join/daemons.hpp"
#include "bench/program/join/handshake.hpp"

namespace scalebench {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
constexpr seconds kToIntroduce{5};
constexpr seconds kToLeave{10};  // daemons that end late, and slow networks
constexpr int kFailed = 1;

}  // namespace

Meeting::Server::Server(const JoinPlan& plan, const std::string& key, Say say)
    : plan_(plan),
      key_(key),
      say_(std::move(say)),
      listener_(listen_at(plan.meeting.address, meeting_ports(plan.meeting))),
      relay_listener_(listen_locally(relay_name_)) {
  members_.push_back(first_member(plan));
  thread_ = std::thread([this] { serve(); });
}

Meeting::Server::~Server() { goodbye(5); }

int Meeting::Server::come() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(members_.size());
}

bool Meeting::Server::close_doors() {
  const std::lock_guard lock(mutex_);
  if (static_cast<int>(members_.size()) < plan_.size()) return false;
  is_closed_ = true;
  name_nodes(members_, plan_);
  return true;
}

std::string Meeting::Server::who_is_missing() const {
  const std::lock_guard lock(mutex_);
  return missing(members_, plan_);
}

std::string Meeting::Server::lost() const {
  const std::lock_guard lock(mutex_);
  return lost_;
}

Hosts Meeting::Server::hosts() const {
  const std::lock_guard lock(mutex_);
  return hosts_of(members_);
}

bool Meeting::Server::is_crowded() const {
  const std::lock_guard lock(mutex_);
  return scalebench::is_crowded(members_);
}

std::string Meeting::Server::on_one_machine() const {
  const std::lock_guard lock(mutex_);
  return scalebench::on_one_machine(members_);
}

std::string Meeting::Server::of_one_name() const {
  const std::lock_guard lock(mutex_);
  return scalebench::of_one_name(members_);
}

void Meeting::Server::goodbye(int exit_code) {
  int nobody_has = -1;
  goodbye_.compare_exchange_strong(nobody_has, exit_code);
  if (thread_.joinable()) thread_.join();
}

void Meeting::Server::serve() {
  daemons_.emplace(/*adopts=*/false);
  while (goodbye_ < 0) {
    wait_for_something();
    const std::lock_guard lock(mutex_);
    let_in();
    hear_visitors();
    hear_members();
    hear_relays();
    report_own_daemons();
  }
  const std::lock_guard lock(mutex_);
  say_goodbye(goodbye_);
}

void Meeting::Server::wait_for_something() const {
  std::vector<pollfd> waiting{{listener_.socket.number(), POLLIN, 0},
                              {relay_listener_.number(), POLLIN, 0}};
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

void Meeting::Server::let_in() {
  std::string peer;
  for (Descriptor one = accept_from(listener_.socket, peer); one.is_open();
       one = accept_from(listener_.socket, peer)) {
    Visitor visitor{MessageStream(std::move(one)), random_hex(kNonceBytes), peer,
                    Clock::now() + kToIntroduce};
    visitor.stream.send(greeting(visitor.nonce));
    visitors_.push_back(std::move(visitor));
  }
  for (Descriptor one = accept_from(relay_listener_, peer); one.is_open();
       one = accept_from(relay_listener_, peer)) {
    if (is_same_user(one)) relays_.push_back({MessageStream(std::move(one)), next_job_++, "", 0});
  }
}

void Meeting::Server::hear_visitors() {
  std::erase_if(visitors_, [this](Visitor& visitor) {
    return has_introduced_itself(visitor) || !visitor.stream.is_open() ||
           Clock::now() > visitor.until;
  });
}

bool Meeting::Server::has_introduced_itself(Visitor& visitor) {
  const auto introduction = visitor.stream.receive();
  if (!introduction) return false;
  if (!knows_key(*introduction, key_, visitor.nonce)) {
    say_(fmt::format("{} wanted to join at {} and was refused: it is of another job", visitor.peer,
                     describe(listener_.at)));
    return true;
  }
  std::string why = is_closed_ ? "all have come, and ranks have been started" : "";
  Member member = introduced_member(*introduction, plan_, members_, why);
  Message answer = welcome(*introduction, key_, visitor.nonce);
  if (!why.empty()) answer["refused"] = why;
  visitor.stream.send(answer);
  if (!why.empty()) return true;
  member.peer = visitor.peer;
  member.stream = std::make_unique<MessageStream>(std::move(visitor.stream));
  members_.insert(std::ranges::upper_bound(members_, member.process, {}, &Member::process),
                  std::move(member));
  return true;
}

void Meeting::Server::hear_members() {
  for (Member& member : members_) {
    if (member.stream) hear(member);
  }
  // Until all are there, somebody who leaves may come again.
  const auto has_left = [](const Member& member) {
    return member.stream && !member.stream->is_open();
  };
  if (!is_closed_) std::erase_if(members_, has_left);
}

void Meeting::Server::hear(Member& member) {
  const bool was_there = member.stream->is_open();
  while (const auto message = member.stream->receive()) {
    if (const int job = number_in(*message, "ended", -1); job >= 0) {
      end_relay(job, number_in(*message, "status", kFailed), text_in(*message, "said"));
    }
  }
  if (!was_there || member.stream->is_open() || !is_closed_) return;
  const std::string line = fmt::format("{} has left in the middle", describe(member, plan_));
  say_(line);
  if (lost_.empty()) lost_ = line;
  if (!member.is_agent) return;
  for (Relay& relay : relays_) {
    if (relay.host == member.node) end_relay(relay.job, kFailed, line);
  }
}

void Meeting::Server::hear_relays() {
  for (Relay& relay : relays_) {
    const auto request = relay.stream.receive();
    if (request && relay.host.empty()) ask(relay, *request);
    if (!relay.stream.is_open() && !relay.host.empty()) stop_daemon_of(relay);
  }
  std::erase_if(relays_, [](const Relay& relay) { return !relay.stream.is_open(); });
}

void Meeting::Server::ask(Relay& relay, const Message& request) {
  const std::string host = text_in(request, "host");
  Member* const agent = agent_of(members_, host);
  if (agent == nullptr) {
    end_relay(relay.job, kFailed,
              fmt::format("{} has no process in this start ({})", host, plan_.source));
    return;
  }
  relay.host = agent->node;
  const Message argv = request.value("argv", Message::array());
  // Open MPI 5 takes two hosts of one name for one host.
  const std::string name = scalebench::of_one_name(members_).empty() ? "" : agent->node;
  if (agent->stream) {
    if (!agent->stream->is_open()) {
      end_relay(relay.job, kFailed, fmt::format("{} has left", describe(*agent, plan_)));
    } else {
      agent->stream->send({{"start", relay.job}, {"argv", argv}, {"name", name}});
    }
    return;
  }
  try {
    // mpirun does not know the name that the environment has for its own host.
    relay.own_daemon = daemons_->start(argv.get<std::vector<std::string>>(), name);
  } catch (const std::exception& error) {
    end_relay(relay.job, kFailed, error.what());
  }
}

void Meeting::Server::stop_daemon_of(Relay& relay) {
  Member* const agent = agent_of(members_, relay.host);
  if (relay.own_daemon != 0) {
    daemons_->stop(relay.own_daemon);
  } else if (agent != nullptr && agent->stream) {
    agent->stream->send({{"stop", relay.job}});
  }
}

void Meeting::Server::report_own_daemons() {
  for (const Daemons::Ended& one : daemons_->ended()) {
    const auto relay = std::ranges::find(relays_, one.daemon, &Relay::own_daemon);
    if (relay != relays_.end()) end_relay(relay->job, one.status, "");
  }
}

void Meeting::Server::end_relay(int job, int status, const std::string& said) {
  const auto relay = std::ranges::find(relays_, job, &Relay::job);
  if (relay == relays_.end()) return;
  relay->stream.send({{"ended", true}, {"status", status}, {"said", said}});
  relay->host.clear();
  relay->own_daemon = 0;
}

void Meeting::Server::say_goodbye(int exit_code) {
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

}  // namespace scalebench
