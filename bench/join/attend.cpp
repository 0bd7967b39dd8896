// SPDX-License-Identifier: Apache-2.0
#include "bench/join/attend.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <optional>
#include <thread>

#include "bench/join/daemon_command.hpp"
#include "bench/join/daemons.hpp"
#include "bench/join/handshake.hpp"
#include "bench/join/host_facts.hpp"
#include "bench/join/meeting.hpp"
#include "bench/join/sockets.hpp"
#include "bench/record/boot_id.hpp"

namespace scalebench {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
constexpr milliseconds kAnswer{2000};  // to connect, and until a first one greets
constexpr milliseconds kBetweenTries{250};
constexpr milliseconds kTurn{200};
constexpr milliseconds kGrace{5000};
constexpr int kCannotStart = 127;

std::string here(const JoinPlan& plan) {
  return fmt::format("{} on {}", plan.name(), own_host_name());
}

Message introduction_of(const JoinPlan& plan) {
  return {{"process", plan.process},
          {"agent", plan.is_agent},
          {"host", plan.host.empty() ? own_host_name() : plan.host},
          {"machine", boot_id()},
          {"slots", plan.slots},
          {"cores", own_cores()}};
}

/// One try at one port. `why`: what was in the way. Throws NotTogether when the first one refuses.
std::optional<MessageStream> met_at(const Endpoint& at, const JoinPlan& plan,
                                    const std::string& key, std::string& why) {
  Descriptor socket = connect_to(at, kAnswer, why);
  if (!socket.is_open()) return std::nullopt;
  MessageStream stream(std::move(socket));
  why = "something else listens there";
  const auto greeting = stream.receive_within(kAnswer);
  const auto nonce = greeting ? greeted(*greeting) : std::nullopt;
  if (!nonce) return std::nullopt;
  const Message introduction = introduced(introduction_of(plan), key, *nonce);
  stream.send(introduction);
  why = "another job's first process answers there";
  const auto answer = stream.receive_within(kAnswer);
  if (!answer || !is_welcome(*answer, introduction, key, *nonce)) return std::nullopt;
  if (const std::string refusal = text_in(*answer, "refused"); !refusal.empty()) {
    throw NotTogether(fmt::format("{}: {} refuses: {}", here(plan), describe(at), refusal));
  }
  return stream;
}

MessageStream meet(const JoinPlan& plan, const std::string& key, milliseconds patience,
                   const std::atomic<bool>& stop) {
  const Clock::time_point deadline = Clock::now() + patience;
  std::string why;
  do {
    for (const int port : meeting_ports(plan.meeting)) {
      std::string hindrance;
      auto stream = met_at({plan.meeting.address, port}, plan, key, hindrance);
      if (stream) return std::move(*stream);
      if (port == plan.meeting.port) why = hindrance;
    }
    std::this_thread::sleep_for(kBetweenTries);
  } while (Clock::now() < deadline && !stop);
  throw NotTogether(fmt::format("{}: {} has not answered at {} within {:.0f} s: {}", here(plan),
                                plan.processes.front(), describe(plan.meeting),
                                std::chrono::duration<double>(patience).count(), why));
}

class Member {
 public:
  Member(const JoinPlan& plan, MessageStream stream)
      : plan_(plan), stream_(std::move(stream)), daemons_(/*adopts=*/true) {}

  int stay(const std::atomic<bool>& stop) {
    while (!stop) {
      report_ended();
      while (const auto message = stream_.receive()) {
        const int code = number_in(*message, "goodbye", -1);
        if (code >= 0) {
          daemons_.end_all(kGrace);
          return code;
        }
        obey(*message);
      }
      if (!stream_.is_open()) break;
      pollfd waiting{stream_.descriptor(), POLLIN, 0};
      poll(&waiting, 1, static_cast<int>(kTurn.count()));
    }
    daemons_.end_all(kGrace);
    throw NotTogether(
        fmt::format("{}: {}", here(plan_),
                    stop ? "interrupted"
                         : fmt::format("{} ({}) has left without saying how the ranks ended",
                                       plan_.processes.front(), describe(plan_.meeting))));
  }

 private:
  void obey(const Message& message) {
    if (const int job = number_in(message, "stop", -1); job >= 0) {
      if (const auto found = pids_.find(job); found != pids_.end()) daemons_.stop(found->second);
      return;
    }
    const int job = number_in(message, "start", -1);
    if (job < 0) return;
    try {
      pids_[job] = daemons_.start(daemon_argv(message));
    } catch (const std::exception& error) {
      stream_.send({{"ended", job}, {"status", kCannotStart}, {"said", error.what()}});
    }
  }

  std::vector<std::string> daemon_argv(const Message& message) const {
    std::vector<std::string> argv;
    if (const auto words = message.find("argv"); words != message.end() && words->is_array()) {
      for (const Message& word : *words) argv.push_back(word.is_string() ? word : "");
    }
    if (!plan_.is_agent || !is_daemon_command(argv))
      fail("{}: starts only orted and prted", here(plan_));
    return argv;
  }

  void report_ended() {
    for (const Daemons::Ended& one : daemons_.ended()) {
      for (auto job = pids_.begin(); job != pids_.end(); ++job) {
        if (job->second != one.daemon) continue;
        stream_.send({{"ended", job->first}, {"status", one.status}});
        pids_.erase(job);
        break;
      }
    }
  }

  const JoinPlan& plan_;
  MessageStream stream_;
  Daemons daemons_;
  std::map<int, pid_t> pids_;  // by the first one's number
};

}  // namespace

int attend(const JoinPlan& plan, const std::string& key, milliseconds patience,
           const std::atomic<bool>& stop) {
  return Member(plan, meet(plan, key, patience, stop)).stay(stop);
}

}  // namespace scalebench
