// SPDX-License-Identifier: Apache-2.0
#include "bench/join/meeting.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <thread>

#include "bench/join/daemon_command.hpp"
#include "bench/join/meeting_server.hpp"

namespace scalebench {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kTurn{20};
constexpr int kIncomplete = 3;

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
    std::this_thread::sleep_for(kTurn);
  }
}

Hosts Meeting::hosts() const { return server_->hosts(); }
bool Meeting::is_crowded() const { return server_->is_crowded(); }
std::string Meeting::on_one_machine() const { return server_->on_one_machine(); }
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

}  // namespace scalebench
