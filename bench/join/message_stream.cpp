// SPDX-License-Identifier: Apache-2.0
#include "bench/join/message_stream.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>

namespace scalebench {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kLongest = 65536;
constexpr int kSendMilliseconds = 2000;

}  // namespace

void MessageStream::send(const Message& message) {
  const std::string line =
      message.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  std::size_t sent = 0;
  while (open_ && sent < line.size()) {
    const ssize_t count =
        ::send(socket_.number(), line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
    if (count > 0) {
      sent += static_cast<std::size_t>(count);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      pollfd waiting{socket_.number(), POLLOUT, 0};
      if (poll(&waiting, 1, kSendMilliseconds) == 0) open_ = false;
    } else if (errno != EINTR) {
      open_ = false;
    }
  }
}

void MessageStream::read_what_is_there() {
  std::array<char, 4096> bytes;
  while (open_ && buffer_.size() <= kLongest) {
    const ssize_t count = recv(socket_.number(), bytes.data(), bytes.size(), 0);
    if (count > 0) {
      buffer_.append(bytes.data(), static_cast<std::size_t>(count));
    } else if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      return;
    } else if (count == 0 || errno != EINTR) {
      open_ = false;
    }
  }
}

std::optional<Message> MessageStream::next_in_buffer() {
  const std::size_t end = buffer_.find('\n');
  if (end == std::string::npos) {
    if (buffer_.size() > kLongest) open_ = false;
    return std::nullopt;
  }
  Message message = Message::parse(buffer_.substr(0, end), nullptr, /*allow_exceptions=*/false);
  buffer_.erase(0, end + 1);
  if (message.is_object()) return message;
  open_ = false;
  buffer_.clear();
  return std::nullopt;
}

std::optional<Message> MessageStream::receive() {
  if (auto message = next_in_buffer()) return message;
  read_what_is_there();
  return next_in_buffer();
}

std::optional<Message> MessageStream::receive_within(std::chrono::milliseconds patience) {
  const Clock::time_point deadline = Clock::now() + patience;
  while (true) {
    if (auto message = receive()) return message;
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    if (!open_ || left.count() <= 0) return std::nullopt;
    pollfd waiting{socket_.number(), POLLIN, 0};
    poll(&waiting, 1, static_cast<int>(left.count()) + 1);
  }
}

std::string text_in(const Message& message, const char* member, std::string otherwise) {
  const auto found = message.find(member);
  return found != message.end() && found->is_string() ? found->get<std::string>() : otherwise;
}

int number_in(const Message& message, const char* member, int otherwise) {
  const auto found = message.find(member);
  return found != message.end() && found->is_number_integer() ? found->get<int>() : otherwise;
}

bool flag_in(const Message& message, const char* member) {
  const auto found = message.find(member);
  return found != message.end() && found->is_boolean() && found->get<bool>();
}

}  // namespace scalebench
