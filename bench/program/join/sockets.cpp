// SPDX-License-Identifier: Apache-2.0
#include "bench/program/join/sockets.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/crypto.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "bench/launch/hosts.hpp"
#include "bench/machine/digest.hpp"
#include "bench/machine/tcp.hpp"
#include "kernels/error.hpp"
#include "kernels/json/parse_json.hpp"
#include "kernels/read_number.hpp"

namespace scalebench {
namespace {

constexpr int kMostPort = 65535;
constexpr int kMostPorts = 8;

using Clock = std::chrono::steady_clock;
constexpr std::size_t kLongest = 65536;
constexpr int kSendMilliseconds = 2000;

/// A cut cable is noticed after about 15 seconds, whether or not there is something to send.
void keep_alive(const Descriptor& socket) {
  const auto set = [&](int level, int option, int value) {
    setsockopt(socket.number(), level, option, &value, sizeof value);
  };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 6);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 3);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, 15000);
  set(IPPROTO_TCP, TCP_NODELAY, 1);
}

/// 0, or errno.
int listen_on(const addrinfo& address, Descriptor& listener) {
  Descriptor made = tcp_socket(address.ai_family);
  const int yes = 1, no = 0;
  setsockopt(made.number(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (address.ai_family == AF_INET6) {
    setsockopt(made.number(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);  // IPv4 comes too
  }
  if (bind(made.number(), address.ai_addr, address.ai_addrlen) != 0) return errno;
  if (listen(made.number(), SOMAXCONN) != 0) return errno;
  listener = std::move(made);
  return 0;
}

bool is_loopback(const sockaddr* address) {
  if (address->sa_family == AF_INET) {
    const auto* const four = reinterpret_cast<const sockaddr_in*>(address);
    return ntohl(four->sin_addr.s_addr) >> 24U == IN_LOOPBACKNET;
  }
  if (address->sa_family != AF_INET6) return false;
  const in6_addr& six = reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
  return IN6_IS_ADDR_LOOPBACK(&six) ||
         (IN6_IS_ADDR_V4MAPPED(&six) && six.s6_addr[12] == IN_LOOPBACKNET);
}

/// On any of the name's addresses; 0, or the last errno.
int listen_on_any(const std::string& address, int port, Descriptor& listener) {
  std::string unused;
  const Addresses addresses = addresses_of(address, port, 0, unused);
  int error = EADDRNOTAVAIL;
  for (const addrinfo* one = addresses.get(); one != nullptr; one = one->ai_next) {
    error = listen_on(*one, listener);
    if (error == 0 || error == EADDRINUSE) break;
  }
  return error;
}

/// In the namespace without files: the name begins with a zero byte.
socklen_t local_address(const std::string& name, sockaddr_un& address) {
  address = {};
  address.sun_family = AF_UNIX;
  name.copy(address.sun_path + 1, sizeof address.sun_path - 2);
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
}

Descriptor local_socket() {
  Descriptor made(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!made.is_open()) fail("socket: {}", std::strerror(errno));
  return made;
}

}  // namespace

Endpoint parse_endpoint(std::string_view text, std::string_view source) {
  const std::size_t colon = text.rfind(':');
  const std::string_view digits =
      colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
  const auto port = read_number<int>(digits);
  if (!port || *port < 1 || *port > kMostPort) {
    fail<UsageError>("{}: '{}'; valid: \"host:port\" with a port from 1 to {}", source, text,
                     kMostPort);
  }
  const Hosts hosts = parse_hosts(text.substr(0, colon), source);
  if (hosts.size() != 1 || hosts.front().slots != 0) {
    fail<UsageError>("{}: '{}'; valid: one \"host:port\"", source, text);
  }
  std::string address = hosts.front().name;
  if (address.starts_with('[')) address = address.substr(1, address.size() - 2);
  return {address, *port};
}

std::string describe(const Endpoint& endpoint) {
  const bool bare = endpoint.address.find(':') == std::string::npos;
  return bare ? fmt::format("{}:{}", endpoint.address, endpoint.port)
              : fmt::format("[{}]:{}", endpoint.address, endpoint.port);
}

std::vector<int> meeting_ports(const Endpoint& endpoint) {
  std::vector<int> ports;
  for (int port = endpoint.port; port <= kMostPort && port < endpoint.port + kMostPorts; ++port) {
    ports.push_back(port);
  }
  return ports;
}

std::string line_of(const Message& message) {
  return message.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void MessageStream::sign(const std::string& key, bool is_first) {
  key_ = key;
  is_first_ = is_first;
}

std::string MessageStream::signature(bool is_first, std::uint64_t number,
                                     std::string_view line) const {
  return hmac_sha256(key_, fmt::format("{} {} {}", is_first ? "first" : "other", number, line));
}

void MessageStream::send(const Message& message) {
  std::string line = line_of(message);
  if (!key_.empty()) line += " " + signature(is_first_, sent_++, line);
  line += "\n";
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
  std::string line = buffer_.substr(0, end);
  buffer_.erase(0, end + 1);
  bool is_theirs = true;
  if (!key_.empty()) {
    const std::size_t blank = std::min(line.rfind(' '), line.size());
    const std::string signed_with = line.substr(std::min(blank + 1, line.size()));
    line.resize(blank);
    const std::string expected = signature(!is_first_, received_++, line);
    is_theirs = signed_with.size() == expected.size() &&
                CRYPTO_memcmp(signed_with.data(), expected.data(), expected.size()) == 0;
  }
  Message message;  // null, which is no message
  if (is_theirs) message = json_or_null(line);
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

int number_in(const Message& message, const char* member, int otherwise) {
  const auto found = message.find(member);
  return found == message.end() ? otherwise : whole_number<int>(*found).value_or(otherwise);
}

bool flag_in(const Message& message, const char* member) {
  const auto found = message.find(member);
  return found != message.end() && found->is_boolean() && found->get<bool>();
}

Listener listen_at(const std::string& address, const std::vector<int>& ports) {
  int error = 0;
  for (const int port : ports) {
    Descriptor listener;
    error = listen_on_any(address, port, listener);
    if (error == EADDRNOTAVAIL) {
      std::string unused;
      // Of the interface at which what the network translates comes in.
      const std::string own = own_address_towards(addresses_of(address, port, 0, unused));
      if (!own.empty()) error = listen_on_any(own, port, listener);
    }
    if (error == 0) return {std::move(listener), {address, port}};
    if (error != EADDRINUSE) break;
  }
  fail("{} (ports {} to {}): cannot listen: {}", address, ports.front(), ports.back(),
       std::strerror(error));
}

Descriptor accept_from(const Descriptor& listener, std::string& peer) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  Descriptor accepted(accept4(listener.number(), reinterpret_cast<sockaddr*>(&address), &length,
                              SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (accepted.is_open() && address.ss_family != AF_UNIX) {
    peer = numeric(reinterpret_cast<const sockaddr*>(&address));
    keep_alive(accepted);
  }
  return accepted;
}

std::optional<std::string> loopback_address(const std::string& address) {
  std::string unused, first;
  const Addresses addresses = addresses_of(address, 1, 0, unused);
  for (const addrinfo* one = addresses.get(); one != nullptr; one = one->ai_next) {
    if (!is_loopback(one->ai_addr)) return std::nullopt;
    if (first.empty()) first = numeric(one->ai_addr);
  }
  return first.empty() ? std::nullopt : std::optional(first);
}

Descriptor connect_to(const Endpoint& endpoint, std::chrono::milliseconds patience,
                      std::string& why) {
  const Addresses addresses = addresses_of(endpoint.address, endpoint.port, 0, why);
  for (const addrinfo* one = addresses.get(); one != nullptr; one = one->ai_next) {
    Descriptor made = tcp_socket(one->ai_family);
    if (!made.is_open()) continue;
    if (const int error = connect_within(made, *one, patience); error != 0) {
      why = std::strerror(error);
      continue;
    }
    keep_alive(made);
    return made;
  }
  return Descriptor();
}

Descriptor listen_locally(std::string& name) {
  Descriptor listener = local_socket();
  name = fmt::format("scalebench-join-{}-{}", getpid(), random_hex(8));
  sockaddr_un address;
  const socklen_t length = local_address(name, address);
  if (bind(listener.number(), reinterpret_cast<const sockaddr*>(&address), length) != 0 ||
      listen(listener.number(), SOMAXCONN) != 0) {
    fail("local socket {}: {}", name, std::strerror(errno));
  }
  return listener;
}

Descriptor connect_locally(const std::string& name) {
  Descriptor made = local_socket();
  sockaddr_un address;
  if (name.size() > sizeof address.sun_path - 2) return Descriptor();
  const socklen_t length = local_address(name, address);
  const bool found =
      connect(made.number(), reinterpret_cast<const sockaddr*>(&address), length) == 0;
  return found && is_same_user(made) ? std::move(made) : Descriptor();
}

bool is_same_user(const Descriptor& socket) {
  ucred other{};
  socklen_t length = sizeof other;
  return getsockopt(socket.number(), SOL_SOCKET, SO_PEERCRED, &other, &length) == 0 &&
         (other.uid == geteuid() || other.uid == 0);
}

std::string random_hex(std::size_t bytes) {
  std::vector<unsigned char> raw(bytes);
  if (getrandom(raw.data(), raw.size(), 0) != static_cast<ssize_t>(bytes)) {
    fail("getrandom: {}", std::strerror(errno));
  }
  return hexadecimal(raw);
}

}  // namespace scalebench
