// SPDX-License-Identifier: Apache-2.0
// The first process of a joint start: listens, knows who has come, hands mpirun's daemons to the
// agents of the other hosts for as many launches as there are, and says goodbye to all.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/launch/hosts.hpp"
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
  /// "h1 and h2 have one host name"; empty: each kernel has a name of its own.
  std::string of_one_name() const;

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

// A process of a joint start as the first one knows it.

struct Member {
  int process = 0;
  bool is_agent = false;
  std::string host;  // as its environment calls it, or as it calls itself
  std::string name;  // as its kernel calls it
  std::string node;  // as mpirun is to call it; given once all are there
  std::string machine;
  int slots = 0;  // 0: not said
  int cores = 1;
  std::string peer;                       // its address
  std::unique_ptr<MessageStream> stream;  // none: the first process itself

  int ranks() const { return slots > 0 ? slots : cores; }
};
/// Sorted by process.
using Members = std::vector<Member>;

/// The first process itself.
Member first_member(const JoinPlan& plan);

/// What an introduction says; empty `why` when it fits the plan and nobody else has that number.
Member introduced_member(const Message& introduction, const JoinPlan& plan, const Members& members,
                         std::string& why);

/// "rank 1 (h2, 10.0.0.2)".
std::string describe(const Member& member, const JoinPlan& plan);

/// Names of those who have not come, at most eight of them: "rank 2, rank 3".
std::string missing(const Members& members, const JoinPlan& plan);

/// Gives each agent's host a name of its own for mpirun. Throws NotTogether when the agents' hosts
/// take more or fewer ranks than there are processes, where the environment counts ranks.
void name_nodes(Members& members, const JoinPlan& plan);

/// Of the agents.
Hosts hosts_of(const Members& members);

/// Two hosts that are one machine, by their names for mpirun; empty: there are none. Each of them
/// believes that it has all cores.
std::string on_one_machine(const Members& members);

/// Two hosts whose kernels have the same name for them; empty: there are none.
std::string of_one_name(const Members& members);

/// Whether a machine has fewer cores than ranks.
bool is_crowded(const Members& members);

/// The agent of a host under any of its names; null when there is none.
Member* agent_of(Members& members, const std::string& host);

}  // namespace scalebench
