// SPDX-License-Identifier: Apache-2.0
// Messages over a socket: one JSON object a line, of at most 64 KiB. Neither end blocks the other.
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "bench/join/descriptor.hpp"

namespace scalebench {

using Message = nlohmann::json;

class MessageStream {
 public:
  explicit MessageStream(Descriptor socket) : socket_(std::move(socket)) {}

  int descriptor() const { return socket_.number(); }
  /// False once the other end is gone or has sent what is no message; what came before is still
  /// received.
  bool is_open() const { return open_; }

  /// Into the kernel's buffer. An end that does not read for two seconds counts as gone.
  void send(const Message& message);

  /// The next message, when there is one already.
  std::optional<Message> receive();
  /// The next message; empty when none has come in time, or the other end is gone.
  std::optional<Message> receive_within(std::chrono::milliseconds patience);

 private:
  void read_what_is_there();
  std::optional<Message> next_in_buffer();

  Descriptor socket_;
  std::string buffer_;
  bool open_ = true;
};

/// A member of a message; `otherwise` when it is not there or of another kind.
std::string text_in(const Message& message, const char* member, std::string otherwise = {});
int number_in(const Message& message, const char* member, int otherwise);
bool flag_in(const Message& message, const char* member);

}  // namespace scalebench
