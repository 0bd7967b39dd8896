// SPDX-License-Identifier: Apache-2.0
// The first process of a joint start: listens, knows who has come, hands mpirun's daemons to the
// agents of the other hosts for as many launches as there are, and says goodbye to all.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "bench/join/join_plan.hpp"
#include "bench/study/hosts.hpp"
#include "kernels/error.hpp"

namespace scalebench {

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

  /// Listens, and serves in a thread of its own from now on. `say`: for people, called by that
  /// thread too. Throws Error when it cannot listen.
  Meeting(const JoinPlan& plan, const std::string& key, Say say);
  /// Says goodbye as internal where nobody has.
  ~Meeting();

  /// Where it listens.
  const Endpoint& at() const;

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

  /// The command that mpirun is to use in place of a remote shell.
  std::string relay_command() const;

  /// One line about who has left since all were there; empty while all are.
  std::string lost() const;

  /// Ends all others with this exit code, and the serving.
  void goodbye(int exit_code);

 private:
  class Server;
  std::unique_ptr<Server> server_;
};

/// What mpirun starts in place of a remote shell: RELAY_WORD NAME HOST WORDS..., `words` without
/// the first. Has the agent of that host start the daemon and ends when that ends, with its status.
int relay(const std::vector<std::string>& words);

}  // namespace scalebench
