// SPDX-License-Identifier: Apache-2.0
#include "bench/program/watchdog/watchdog.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "bench/cli/exit.hpp"
#include "bench/cli/stderr.hpp"
#include "bench/machine/identity.hpp"
#include "bench/program/watchdog/life_signs.hpp"
#include "collectives/control.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

using Life = WatchdogPage::Life;

/// Long enough for a host whose cores are taken, or that loses the first letters.
constexpr double kLinkSeconds = 6;
/// In which the death is named that may be behind a failure.
constexpr std::chrono::milliseconds kNaming{1000};

// A signal handler can reach nothing else.
WatchdogPage* page_of_this_process = nullptr;
int news_of_this_process = -1;

void tell_child() { static_cast<void>(!write(news_of_this_process, "", 1)); }

/// By its launcher, or by its own watchdog, wherever the program is.
void end_by(int signal) {
  WatchdogPage& page = *page_of_this_process;
  if (page.ending) _exit(static_cast<int>(ExitCode::incomplete));
  if (page.life <= Life::watched) page.life = Life::terminated;
  tell_child();
  raise(signal);  // again, by default
}

std::string name_of_this_process() {
  for (const std::string_view name : kRankVariables) {
    const char* const rank = std::getenv(name.data());
    if (rank != nullptr) return fmt::format("rank {} on {}", rank, own_host_name());
  }
  return fmt::format("the rank on {}", own_host_name());
}

constexpr const char* kName = "watchdog";

/// In the child's copy of what /proc shows of a process.
void look_like_nobody(int argc, char** argv) {
  prctl(PR_SET_NAME, kName);
  for (char** variable = environ; *variable != nullptr; ++variable) {
    std::memset(*variable, 0, std::strlen(*variable));
  }
  for (int i = 0; i < argc; ++i) {
    const std::size_t length = std::strlen(argv[i]);
    std::memset(argv[i], 0, length);
    if (i == 0) std::memcpy(argv[i], kName, std::min(length, std::strlen(kName)));
  }
}

bool becomes_true(const std::atomic<bool>& value, double seconds) {
  const double until = watchdog_seconds() + seconds;
  while (!value) {
    if (watchdog_seconds() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

WatchdogPage* new_page() {
  void* const page = mmap(nullptr, sizeof(WatchdogPage), PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) fail("no memory to share with a watchdog: {}", std::strerror(errno));
  return new (page) WatchdogPage;
}

}  // namespace

Watchdog::Watchdog(int argc, char** argv, bool is_rank, double stopped_seconds)
    : page_(new_page()) {
  if (!is_rank) return;
  page_of_this_process = page_;
  news_of_this_process = news_.writing();
  const pid_t parent = getpid();
  const std::string name = fmt::format("{} (process {})", name_of_this_process(), parent);
  for (const int signal : {SIGTERM, SIGINT}) {
    struct sigaction action {};
    action.sa_handler = end_by;
    action.sa_flags = SA_RESETHAND | SA_NODEFER;
    sigaction(signal, &action, nullptr);
  }
  child_ = fork();
  if (child_ == 0) {
    news_.close_writing();
    close(STDIN_FILENO);
    close(STDOUT_FILENO);  // whose end a launcher waits for
    setsid();              // what ends or stops the rank's group is not meant for it
    for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGPIPE}) std::signal(signal, SIG_IGN);
    look_like_nobody(argc, argv);
    watch_parent(*page_, parent, news_.reading(), name, stopped_seconds);
  }
}

Watchdog::~Watchdog() {
  if (child_ > 0) {
    set_life(Life::parted);
    page_->over = true;
    news_.close_writing();
    kill(child_, SIGCONT);  // it may have been stopped itself
    while (waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  if (page_of_this_process == page_) {
    for (const int signal : {SIGTERM, SIGINT}) std::signal(signal, SIG_DFL);
  }
  munmap(page_, sizeof(*page_));
}

void Watchdog::set_life(Life life) {
  page_->life = life;
  if (child_ > 0) tell_child();
}

void Watchdog::give_up() {
  const bool others = watching();
  if (page_->life <= Life::watched) set_life(Life::failing);
  if (others) std::this_thread::sleep_for(kNaming);
}

void Watchdog::part() {
  if (watching()) set_life(Life::parted);
}

void Watchdog::watch(Communicator& host, Patience patience) {
  if (host.size() == 1) return set_life(Life::alone);
  page_->marks.set_patience(patience);
  const std::vector<std::string> hosts = all_gather(host, own_host_name());
  const bool begun = child_ > 0 && becomes_true(page_->begun, kLinkSeconds);
  page_->rank = host.rank();
  page_->ranks = host.size();
  const auto other = std::ranges::find_if(hosts, [&](const auto& one) { return one != hosts[0]; });
  page_->speaker = other == hosts.end() ? 1 : static_cast<int>(other - hosts.begin());
  page_->limit_seconds = patience.limit_seconds;
  // Who is invited writes at once.
  if (host.rank() == 0) set_life(Life::linking);
  broadcast_bytes(host, std::as_writable_bytes(std::span(&page_->invitation, 1)), 0);
  if (host.rank() != 0) set_life(Life::linking);
  const bool reached = begun && becomes_true(page_->reached, kLinkSeconds);
  std::vector<std::string> unreachable;
  const std::vector<double> all = all_gather(host, reached ? 1.0 : 0.0);
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank] == 0) unreachable.push_back(fmt::format("rank {} on {}", rank, hosts[rank]));
  }
  set_life(unreachable.empty() ? Life::watched : Life::alone);
  if (unreachable.empty() || host.rank() != 0) return;
  print_line(
      fmt::format("warning: {} cannot reach the watchdog of rank 0 on {} over UDP: a rank that "
                  "hangs will not be noticed; open the ports between the hosts, or set mpirun "
                  "--timeout",
                  fmt::join(unreachable, ", "), hosts[0]));
}

}  // namespace scalebench
