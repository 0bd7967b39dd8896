// SPDX-License-Identifier: Apache-2.0
// Sockets of a meeting: TCP between hosts; within the first one a local socket without a file, for
// processes of the same user. All are closed on exec and never block.
#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/machine/descriptor.hpp"

namespace scalebench {

// An address and a port of TCP.

struct Endpoint {
  std::string address;  // a name or a number; IPv6 without brackets
  int port = 0;         // 1 to 65535
  bool operator==(const Endpoint&) const = default;
};

/// "host:2222", "[fd00::2]:2222". Throws UsageError that begins with `source`.
Endpoint parse_endpoint(std::string_view text, std::string_view source);

/// As parse_endpoint reads it.
std::string describe(const Endpoint& endpoint);

/// The ports to meet at, the first that is free: `endpoint`'s own and the seven after it. A port
/// that was chosen ahead may have been taken since, and then whoever comes looks into the next.
std::vector<int> meeting_ports(const Endpoint& endpoint);

// Messages over a socket: one JSON object a line, of at most 64 KiB. Neither end blocks the other.

using Message = nlohmann::json;

/// As it is sent, without the end of the line.
std::string line_of(const Message& message);

class MessageStream {
 public:
  explicit MessageStream(Descriptor socket) : socket_(std::move(socket)) {}

  int descriptor() const { return socket_.number(); }
  /// False once the other end is gone or has sent what is no message; what came before is still
  /// received.
  bool is_open() const { return open_; }

  /// From now on both ends sign what they send with `key`: a message that is not the next one that
  /// the other end has written is none. `is_first`: of the two ends, which may not take back their
  /// own words.
  void sign(const std::string& key, bool is_first);

  /// Into the kernel's buffer. An end that does not read for two seconds counts as gone.
  void send(const Message& message);

  /// The next message, when there is one already.
  std::optional<Message> receive();
  /// The next message; empty when none has come in time, or the other end is gone.
  std::optional<Message> receive_within(std::chrono::milliseconds patience);

 private:
  void read_what_is_there();
  std::optional<Message> next_in_buffer();

  std::string signature(bool is_first, std::uint64_t number, std::string_view line) const;

  Descriptor socket_;
  std::string buffer_;
  bool open_ = true;
  std::string key_;  // empty: nothing is signed
  bool is_first_ = false;
  std::uint64_t sent_ = 0, received_ = 0;  // since they sign
};

/// A member of a message; `otherwise` or false when it is not there or of another kind.
int number_in(const Message& message, const char* member, int otherwise);
bool flag_in(const Message& message, const char* member);

struct Listener {
  Descriptor socket;
  Endpoint at;
};

/// Listens at the first of `ports` that is free: on `address` where that is this host's, else (a
/// name that the network translates) on the one address from which this host reaches it. Throws
/// Error when none is free.
Listener listen_at(const std::string& address, const std::vector<int>& ports);

/// Not open when nobody is waiting, or nobody can be let in, which errno says. `peer` becomes the
/// other end's address.
Descriptor accept_from(const Descriptor& listener, std::string& peer);

/// "127.0.0.1" of "localhost": the first address of a name all of whose addresses lead to this very
/// host. Empty: it has others, or none.
std::optional<std::string> loopback_address(const std::string& address);

/// Tries all addresses of the name, each for `patience`. Not open when none answers; `why` then
/// says it in a few words.
Descriptor connect_to(const Endpoint& endpoint, std::chrono::milliseconds patience,
                      std::string& why);

/// A local socket under a new name, which `name` becomes.
Descriptor listen_locally(std::string& name);
/// Not open when nobody listens there, or another user does.
Descriptor connect_locally(const std::string& name);
/// Whether the other end of a local socket belongs to this user, or to root.
bool is_same_user(const Descriptor& socket);

/// `bytes` of the kernel's randomness as hex digits.
std::string random_hex(std::size_t bytes);

}  // namespace scalebench
