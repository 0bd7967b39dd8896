// SPDX-License-Identifier: Apache-2.0
#include "bench/launch/side_by_side.hpp"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>

#include "bench/machine/identity.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

constexpr const char* kPort = "7777";

/// A socket of the first address of `host` at which `use` succeeds. Not open: there is none, and
/// errno says why.
Descriptor socket_at(const std::string& host, bool (*use)(int socket, const addrinfo& address)) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  errno = EADDRNOTAVAIL;
  if (::getaddrinfo(host.c_str(), kPort, &hints, &found) != 0) return Descriptor();
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> addresses(found, &::freeaddrinfo);
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    Descriptor made(::socket(one->ai_family, SOCK_STREAM, one->ai_protocol));
    if (use(made.number(), *one)) return made;
  }
  return Descriptor();
}

bool connects(int socket, const addrinfo& address) {
  const timeval patience{5, 0};  // with a host that does not answer
  ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  return ::connect(socket, address.ai_addr, address.ai_addrlen) == 0;
}

bool listens(int socket, const addrinfo& address) {
  const int reuse = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof reuse);
  return ::bind(socket, address.ai_addr, address.ai_addrlen) == 0 &&
         ::listen(socket, SOMAXCONN) == 0;
}

/// Whether arguments or variables name another way to other hosts than plain ssh.
bool names_agent(const LaunchSettings& settings, const EnvironmentVariables& variables) {
  const auto within = [](const std::string& word) {
    return word.find("sh_agent") != std::string::npos || word.starts_with("HYDRA_LAUNCHER") ||
           word.starts_with("-launcher");
  };
  return std::ranges::any_of(settings.mpirun_arguments, within) ||
         std::ranges::any_of(variables, [&](const auto& one) { return within(one.first); });
}

std::string without_brackets(const std::string& host) {
  return host.starts_with('[') ? host.substr(1, host.size() - 2) : host;
}

/// ssh is what the launcher would use there.
void require_way_to(const LaunchSettings& settings, const ProcessPlace& place,
                    const EnvironmentVariables& variables) {
  constexpr int kPatienceSeconds = 30;
  if (settings.hosts.size() < 2 || settings.launcher == "slurm") return;
  if (names_agent(settings, variables)) return;
  const auto is_other = [](const Host& host) {
    return host.name != own_host_name() && host.name != "localhost";
  };
  const auto other = std::find_if(settings.hosts.begin() + 1, settings.hosts.end(), is_other);
  if (other == settings.hosts.end()) return;
  const std::string host = without_brackets(other->name);
  const CommandAnswer answer = ask(
      {"ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", host, "true"}, kPatienceSeconds);
  if (answer.answered) return;
  fail<UsageError>("{}: no rank can be started on {} by ssh ({}); {}", place.source, host,
                   said_in(answer.output), remedy_on(variables));
}

}  // namespace

std::string part_of(const ProcessPlace& place) {
  if (place.is_first) return fmt::format("{}: {} starts the ranks of all", place.source, place.own);
  if (!place.must_stay) {
    return fmt::format("{}: {} ends here: {} starts the ranks of all", place.source, place.own,
                       place.first);
  }
  return fmt::format("{}: {} waits until {}, which starts the ranks of all, has closed its port {}",
                     place.source, place.own, place.first, kPort);
}

OpenPort::OpenPort(const ProcessPlace& place) {
  if (!place.is_first || !place.must_stay) return;
  socket_ = socket_at(place.own, &listens);
  if (socket_.is_open()) return;
  fail<UsageError>("{}: port {} of {} cannot be opened, for which the others wait: {}",
                   place.source, kPort, place.own, std::strerror(errno));
}

void stay_for_first(const ProcessPlace& place, int patience_seconds) {
  if (!place.must_stay) return;
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + std::chrono::seconds(patience_seconds);
  Descriptor connection;
  while (!(connection = socket_at(place.first, &connects)).is_open()) {
    if (Clock::now() > deadline) {
      fail("{}: {} has not opened its port {} within {} s", place.source, place.first, kPort,
           patience_seconds);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(250));
  }
  // A host that is gone closes nothing: after a minute without an answer the wait is over.
  constexpr int kAlive = 1, kSeconds = 15, kTimes = 4;
  ::setsockopt(connection.number(), SOL_SOCKET, SO_KEEPALIVE, &kAlive, sizeof kAlive);
  ::setsockopt(connection.number(), IPPROTO_TCP, TCP_KEEPIDLE, &kSeconds, sizeof kSeconds);
  ::setsockopt(connection.number(), IPPROTO_TCP, TCP_KEEPINTVL, &kSeconds, sizeof kSeconds);
  ::setsockopt(connection.number(), IPPROTO_TCP, TCP_KEEPCNT, &kTimes, sizeof kTimes);
  pollfd end{connection.number(), POLLIN, 0};  // nothing is ever sent: what comes is the end
  while (::poll(&end, 1, -1) < 0 && errno == EINTR) {
  }
}

void make_way(const LaunchSettings& settings, const EnvironmentVariables& variables) {
  const auto place = process_place(variables);
  if (!place) return;
  require_way_to(settings, *place, variables);
  for (const auto& [name, value] : variables) {
    if (name.starts_with("SLURM_")) unsetenv(name.c_str());
  }
}

}  // namespace scalebench
