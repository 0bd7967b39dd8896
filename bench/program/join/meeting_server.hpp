// SPDX-License-Identifier: Apache-2.0
// What a meeting does in its thread: lets in who knows the key, passes mpirun's commands on to the
// agents and their ends back, notices who leaves, says goodbye.
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "bench/program/join/daemons.hpp"
#include "bench/program/join/meeting.hpp"
#include "bench/program/join/sockets.hpp"

namespace scalebench {

class Meeting::Server {
 public:
  Server(const JoinPlan& plan, const std::string& key, Say say);
  ~Server();

  const Endpoint& at() const { return listener_.at; }
  const std::string& relay_name() const { return relay_name_; }
  const JoinPlan& plan() const { return plan_; }

  int come() const;
  /// Once all have come, from when on nobody may come and whoever leaves is lost; else false.
  bool close_doors();
  std::string who_is_missing() const;
  std::string lost() const;
  Hosts hosts() const;
  bool is_crowded() const;
  std::string on_one_machine() const;
  std::string of_one_name() const;
  void goodbye(int exit_code);

 private:
  using Clock = std::chrono::steady_clock;
  /// Somebody who has not yet shown that he knows the key.
  struct Visitor {
    MessageStream stream;
    std::string nonce, peer;
    Clock::time_point until;
  };
  /// mpirun's stand-in for a remote shell, and the daemon that it asked for.
  struct Relay {
    MessageStream stream;
    int job = 0;
    std::string host;      // empty: it has not asked yet
    pid_t own_daemon = 0;  // where the host is this one
  };

  void serve();
  void wait_for_something() const;
  void let_in();
  void hear_visitors();
  bool has_introduced_itself(Visitor& visitor);
  void hear_members();
  void hear(Member& member);
  void hear_relays();
  void ask(Relay& relay, const Message& request);
  void stop_daemon_of(Relay& relay);
  void report_own_daemons();
  void end_relay(int job, int status, const std::string& said);
  void say_goodbye(int exit_code);

  const JoinPlan plan_;
  const std::string key_;
  const Say say_;
  Listener listener_;
  std::string relay_name_;
  Descriptor relay_listener_;

  mutable std::mutex mutex_;  // of what follows
  Members members_;
  std::vector<Visitor> visitors_;
  std::vector<Relay> relays_;
  std::optional<Daemons> daemons_;  // made by the thread, at whose end they would end
  bool is_closed_ = false;
  std::string lost_;
  int next_job_ = 0;

  std::atomic<int> goodbye_ = -1;
  std::thread thread_;
};

}  // namespace scalebench
