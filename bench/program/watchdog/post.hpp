// SPDX-License-Identifier: Apache-2.0
// The watchdogs' own way between ranks: datagrams to the one of rank 0, and its answers. What a
// rank tells it tells again, so that one may be lost; none waits for another, and none needs MPI.
#pragma once

#include <netinet/in.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "bench/machine/descriptor.hpp"
#include "bench/program/watchdog/judge.hpp"

namespace scalebench {

/// Sent as it lies in memory: all ranks run the same binary.
struct Letter {
  enum class Kind : std::int32_t {
    told,     // how far a rank is
    parted,   // it has ended, or is about to
    failing,  // it is about to end, and says why itself
    dead,     // it has ended otherwise
    heard,    // rank 0's watchdog: the answer to each of these
    named,    // the answer to `dead`: its watchdog is to name it
    ending,   // rank 0's watchdog: all are to end
  };
  std::uint64_t token = 0;  // of this run
  Kind kind = Kind::told;
  Told told;
};

/// Where rank 0's watchdog may be found. Of IPv4 alone, as the ranks of Open MPI find each other.
struct Invitation {
  std::uint64_t token = 0;  // of this run
  std::size_t count = 0;    // of the addresses, each with the port
  std::array<sockaddr_in, 32> addresses = {};
};

class Post {
 public:
  /// A port of the system's choice, of all addresses.
  Post();
  int fd() const { return socket_.number(); }
  /// To this process, by all of its interfaces that are up; one that leads nowhere costs a letter.
  Invitation invitation() const;

  /// Drops the letter where it cannot go out at once.
  void send(const Letter& letter, const sockaddr_in& to) const;
  struct Received {
    Letter letter;
    sockaddr_in from;
  };
  /// The next letter that has come and knows the token; empty: none.
  std::optional<Received> receive(std::uint64_t token) const;

 private:
  Descriptor socket_;
};

}  // namespace scalebench
