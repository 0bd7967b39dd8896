// SPDX-License-Identifier: Apache-2.0
// The watchdog's own way between ranks: one TCP connection from each rank to rank 0, which carries
// whole messages, never blocks, and raises no signal.
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bench/machine/descriptor.hpp"
#include "bench/program/watchdog/verdict.hpp"
#include "collectives/communicator.hpp"

namespace scalebench {

/// Sent as it lies in memory: all ranks run the same binary.
struct WatchdogMessage {
  enum class Kind : std::int32_t { hello, progress, goodbye, failing, ending };
  std::uint64_t token = 0;  // of this run, in a hello
  Kind kind = Kind::progress;
  std::int32_t rank = 0;
  RankProgress progress;
};

/// Where rank 0 waits for the others. Sent as it lies in memory.
struct WatchdogInvitation {
  std::uint64_t token = 0;  // of this run
  std::size_t count = 0;    // of the addresses, each with the port
  std::array<sockaddr_storage, 32> addresses{};
};

class WatchdogLink {
 public:
  WatchdogLink() = default;
  /// Over a connection, whose messages go out at once.
  explicit WatchdogLink(Descriptor fd);

  bool open() const { return fd_.is_open(); }
  int fd() const { return fd_.number(); }
  /// Drops the message when the other side has long not read any.
  void send(const WatchdogMessage& message);
  /// All that came; closes the link where the other side has.
  std::vector<WatchdogMessage> receive();
  /// Nothing more will be sent; receiving goes on.
  void finish_sending();
  void close() { fd_ = Descriptor(); }

 private:
  void flush();

  Descriptor fd_;
  std::string in_;
  std::string out_;
};

struct WatchdogLinks {
  std::vector<WatchdogLink> links;  // on rank 0 by rank, its own closed; on others only to rank 0
  std::vector<std::string> hosts;   // by rank
};

/// Where this process is, in words that are equal where two share their loopback: the machine and
/// its network namespace.
std::string own_place();

/// Collective, throws nothing of its own. Rank 0 listens for as long as it takes, on loopback alone
/// where all share it, and lets in who knows the run's token. No links on any rank when one has not
/// reached rank 0 in `seconds`, which rank 0 says on stderr; default: long enough for a host whose
/// cores are taken, or that asks for the first packet again.
WatchdogLinks link_to_first_rank(Communicator& host, double seconds = 6);

/// Seconds of a clock that only goes forward.
double watchdog_seconds();

/// Sleeps until one of the descriptors is readable (wake) or hung up (links), or `seconds` passed.
void sleep_on(int wake, std::span<const WatchdogLink> links, double seconds);

}  // namespace scalebench
