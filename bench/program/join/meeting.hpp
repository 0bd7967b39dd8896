// SPDX-License-Identifier: Apache-2.0
// The first process of a joint start: listens, knows who has come, hands mpirun's daemons to the
// agents of the other hosts for as many launches as there are, and says goodbye to all.
#pragma once

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "bench/launch/hosts.hpp"
#include "bench/program/join/daemons.hpp"
#include "bench/program/join/environments.hpp"
#include "bench/program/join/sockets.hpp"
#include "kernels/error.hpp"

namespace scalebench {

inline constexpr std::chrono::milliseconds kTurn{200};    // between two looks at everything
inline constexpr std::chrono::milliseconds kGrace{5000};  // for what has been told to end
inline constexpr int kIncomplete = 3;                     // the exit code, as in cli/exit.hpp

/// Not all have come in time, or one has left; one line that says who and where.
class NotTogether : public Error {
 public:
  using Error::Error;
};

/// First word of this program's command line when mpirun runs it in place of a remote shell.
inline constexpr const char* kRelayWord = "--join-relay";

class Meeting {
 public:
  using Say = std::function<void(const std::string& line)>;

  /// For those who have connected and not shown yet that they belong here.
  struct Door {
    int strangers =
        64;  // beside the processes of the start; of one more the largest crowd loses one
    std::chrono::milliseconds to_introduce{5000};
  };

  /// Listens, and serves in a thread of its own from now on. `say`: for people, called by that
  /// thread too. Throws Error when it cannot listen.
  Meeting(const JoinPlan& plan, const std::string& key, Say say, const Door& door);
  Meeting(const JoinPlan& plan, const std::string& key, Say say)
      : Meeting(plan, key, std::move(say), Door()) {}
  /// Says goodbye as internal where nobody has.
  ~Meeting();

  /// Where it listens.
  const Endpoint& at() const { return listener_.at; }

  /// How many processes are here, itself among them.
  int here() const;

  /// Waits for all processes. Throws NotTogether when one has not come within `patience`, when they
  /// do not fit together, or when `stop` becomes true.
  void gather(std::chrono::milliseconds patience, const std::atomic<bool>& stop);

  /// After gather: the hosts in the order of their processes, under names that mpirun and the relay
  /// understand, with the ranks that each takes (its cores where the environment says nothing).
  Hosts hosts() const;
  /// Some machine has fewer cores than ranks.
  bool is_crowded() const;
  /// "h1 and h2 are one machine"; empty: each host is a machine of its own.
  std::string on_one_machine() const;
  /// "h1 and h2 have one host name"; empty: each kernel has a name of its own.
  std::string of_one_name() const;

  /// The command that mpirun is to use in place of a remote shell.
  std::string relay_command() const;

  /// One line about who has left since all were there; empty while all are.
  std::string lost() const;

  /// Ends all others with this exit code, and the serving.
  void goodbye(int exit_code);

 private:
  struct Member;
  struct Visitor;
  struct Relay;

  bool close_doors();
  void name_nodes();
  std::string missing() const;
  std::string who(const Member& member) const;
  std::string two_alike(std::string Member::*value, std::string_view what) const;
  Member* agent_of(const std::string& host);
  void serve();
  void wait_for_something() const;
  void let_in();
  void make_room();
  void say_of_strangers(const std::string& line);
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
  const Door door_;
  const std::filesystem::path daemon_;  // of this host's MPI
  Listener listener_;
  std::string relay_name_;
  Descriptor relay_listener_;

  mutable std::mutex mutex_;     // of what follows
  std::vector<Member> members_;  // sorted by process
  std::vector<Visitor> visitors_;
  std::vector<Relay> relays_;
  std::optional<Daemons> daemons_;  // made by the thread, at whose end they would end
  bool is_closed_ = false;
  bool is_full_ = false;  // the process has no descriptor left: nobody is let in for a turn
  int strangers_ = 0;     // said of so far
  std::string lost_;
  int next_job_ = 0;

  std::atomic<int> goodbye_ = -1;
  std::thread thread_;
};

/// Of a message of the first process's, which nobody has looked at yet.
DaemonRequest daemon_request_in(const Message& message);

/// What mpirun starts in place of a remote shell: RELAY_WORD NAME HOST WORDS..., `words` without
/// the first. Has the agent of that host start the daemon and ends when that ends, with its status.
int relay(const std::vector<std::string>& words);

}  // namespace scalebench
