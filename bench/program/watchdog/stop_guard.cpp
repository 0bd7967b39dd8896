// SPDX-License-Identifier: Apache-2.0
// The child calls only what a fork of several threads may: system calls, on memory that is there.
#include "bench/program/watchdog/stop_guard.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <string_view>

#include "bench/machine/identity.hpp"

namespace scalebench {
namespace {

std::string name_of_this_process() {
  for (const std::string_view name : kRankVariables) {
    const char* const rank = std::getenv(name.data());
    if (rank != nullptr) return fmt::format("rank {} on {}", rank, own_host_name());
  }
  return fmt::format("the rank on {}", own_host_name());
}

/// By its state in /proc/PID/stat.
bool is_stopped(const char* path) {
  std::array<char, 512> text{};
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const ssize_t size = read(file, text.data(), text.size() - 1);
  close(file);
  // The second field is a name in parentheses, which may hold any of them.
  const char* const name_end = size > 0 ? std::strrchr(text.data(), ')') : nullptr;
  return name_end != nullptr && std::strncmp(name_end, ") T", 3) == 0;
}

constexpr const char* kName = "stop_guard";

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

[[noreturn]] void guard(pid_t parent, const char* path, std::string_view words,
                        std::chrono::milliseconds every, const std::atomic<bool>& watches) {
  for (int looks = 0; looks < StopGuard::kLooks;) {
    poll(nullptr, 0, static_cast<int>(every.count()));
    looks = watches && is_stopped(path) ? looks + 1 : 0;
  }
  static_cast<void>(!write(STDERR_FILENO, words.data(), words.size()));
  kill(parent, SIGKILL);
  _exit(0);
}

}  // namespace

StopGuard::StopGuard(int argc, char** argv, std::chrono::milliseconds every) {
  void* const page = mmap(nullptr, sizeof(std::atomic<bool>), PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return;
  watches_ = new (page) std::atomic<bool>(true);
  const pid_t parent = getpid();
  const std::string path = fmt::format("/proc/{}/stat", parent);
  const std::string words =
      fmt::format("{} (process {}) is stopped: it is ended\n", name_of_this_process(), parent);
  child_ = fork();
  if (child_ != 0) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(0);  // it has ended before that
  close(STDIN_FILENO);
  close(STDOUT_FILENO);  // whose end a launcher waits for
  setsid();              // what ends or stops the rank's group is not meant for it
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) std::signal(signal, SIG_IGN);
  look_like_nobody(argc, argv);
  guard(parent, path.c_str(), words, every, *watches_);
}

StopGuard::~StopGuard() {
  if (child_ > 0) {
    kill(child_, SIGKILL);  // it may be stopped itself
    while (waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  if (watches_ != nullptr) munmap(watches_, sizeof(*watches_));
}

}  // namespace scalebench
