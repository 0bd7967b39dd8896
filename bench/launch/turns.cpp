// SPDX-License-Identifier: Apache-2.0
#include "bench/launch/turns.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bench/machine/descriptor.hpp"

namespace scalebench {
namespace {

using Clock = std::chrono::steady_clock;

std::string any_name() {
  std::random_device random;
  return fmt::format("scalebench-turns-{:08x}{:08x}{:08x}", random(), random(), random());
}

struct Address {
  sockaddr_un address{};
  socklen_t size = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
};

/// In the abstract namespace, where nothing is left behind; `name` is shorter than a path may be.
Address address_of(std::string_view name) {
  Address its;
  its.address.sun_family = AF_UNIX;
  name.copy(its.address.sun_path + 1, sizeof its.address.sun_path - 1);  // the first byte is 0
  its.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return its;
}

/// Not open where there is none to be had.
Descriptor listen_at(std::string_view name) {
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const Address own = address_of(name);
  const bool listens =
      bind(socket.number(), own.get(), own.size) == 0 && listen(socket.number(), SOMAXCONN) == 0;
  return listens ? std::move(socket) : Descriptor();
}

bool is_of_this_user(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == geteuid();
}

}  // namespace

int connect_to_turns(std::string_view name) {
  if (name.empty() || name.size() >= sizeof(sockaddr_un::sun_path)) return -1;
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return -1;
  const Address table = address_of(name);
  if (connect(socket, table.get(), table.size) == 0 && is_of_this_user(socket)) return socket;
  close(socket);
  return -1;
}

class Turns::Table {
 public:
  explicit Table(std::array<int, 2> ranks) : wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    for (std::size_t i = 0; i < sides_.size(); ++i) {
      sides_[i].ranks = static_cast<std::size_t>(ranks[i]);
      sides_[i].name = any_name();
      sides_[i].listener = listen_at(sides_[i].name);
    }
    thread_ = std::jthread([this](const std::stop_token& stop) { serve(stop); });
  }
  ~Table() {
    thread_.request_stop();
    wake();
    thread_.join();
  }
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  Variables variables(std::size_t launch) const {
    const Side& side = sides_.at(launch);
    if (!side.listener.is_open()) return {};
    return {{kTurnsVariable, side.name}};
  }

  void until_ready(std::size_t launch, const std::atomic<bool>& stop) {
    constexpr std::chrono::milliseconds kLook{50};  // at `stop`, which a signal sets
    std::unique_lock lock(mutex_);
    const Side& side = sides_.at(launch);
    while (!stop && !side.ended && !side.ready()) changed_.wait_for(lock, kLook);
  }

  void ended(std::size_t launch) {
    {
      const std::scoped_lock lock(mutex_);
      sides_.at(launch).ended = true;
      advance();
    }
    changed_.notify_all();
  }

  double waited(std::size_t launch) {
    const std::scoped_lock lock(mutex_);
    return sides_.at(launch).waited.count();
  }

 private:
  struct Client {
    Descriptor socket;
    bool waits = false;
  };
  struct Side {
    std::size_t ranks = 0;
    std::string name;
    Descriptor listener;
    std::vector<Client> clients;
    bool ended = false;
    std::optional<Clock::time_point> since{};  // all its ranks wait
    std::chrono::duration<double> waited{0};

    bool ready() const { return since.has_value(); }
    bool all_wait() const {
      std::size_t waiting = 0;
      for (const Client& client : clients) waiting += client.waits ? 1 : 0;
      return waiting == ranks;
    }
  };

  void wake() const {
    const std::uint64_t one = 1;
    static_cast<void>(!write(wake_.number(), &one, sizeof one));
  }

  void serve(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      std::vector<pollfd> waits{{wake_.number(), POLLIN, 0}};
      for (const Side& side : sides_) {
        waits.push_back({side.listener.number(), POLLIN, 0});
        for (const Client& client : side.clients)
          waits.push_back({client.socket.number(), POLLIN, 0});
      }
      if (poll(waits.data(), waits.size(), -1) < 0) continue;
      {
        const std::scoped_lock lock(mutex_);
        for (Side& side : sides_) {
          hear(side);
          accept_into(side);
        }
        advance();
      }
      changed_.notify_all();
    }
  }

  static void accept_into(Side& side) {
    while (side.listener.is_open()) {
      Descriptor client(
          accept4(side.listener.number(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!client.is_open()) return;
      if (is_of_this_user(client.number())) side.clients.push_back({std::move(client), false});
    }
  }

  static void hear(Side& side) {
    for (Client& client : side.clients) {
      char word = 0;
      const ssize_t size = read(client.socket.number(), &word, 1);
      if (size == 1 && word == kReady) client.waits = true;
      if (size == 0) client.socket = Descriptor();
    }
    std::erase_if(side.clients, [](const Client& client) { return !client.socket.is_open(); });
  }

  /// Whose turn it is.
  void advance() {
    for (Side& side : sides_) {
      if (!side.ready() && side.all_wait()) side.since = Clock::now();
    }
    const auto is_settled = [](const Side& side) { return side.ended || side.ready(); };
    if (!is_settled(sides_[0]) || !is_settled(sides_[1])) return;  // it works, or will
    for (const std::size_t next : {next_, 1 - next_}) {
      Side& side = sides_[next];
      if (side.ended || !side.ready()) continue;
      side.waited += Clock::now() - *side.since;
      side.since.reset();
      for (Client& client : side.clients) {
        client.waits = false;
        static_cast<void>(send(client.socket.number(), &kGo, 1, MSG_NOSIGNAL));
      }
      next_ = 1 - next;
      return;
    }
  }

  const Descriptor wake_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::array<Side, 2> sides_;
  std::size_t next_ = 0;
  std::jthread thread_;
};

Turns::Turns(std::array<int, 2> ranks) : table_(std::make_unique<Table>(ranks)) {}
Turns::~Turns() = default;

Variables Turns::variables(std::size_t launch) const { return table_->variables(launch); }
void Turns::until_ready(std::size_t launch, const std::atomic<bool>& stop) const {
  table_->until_ready(launch, stop);
}
void Turns::ended(std::size_t launch) { table_->ended(launch); }
double Turns::waited(std::size_t launch) const { return table_->waited(launch); }

}  // namespace scalebench
