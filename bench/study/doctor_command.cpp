// SPDX-License-Identifier: Apache-2.0
#include "bench/study/doctor_command.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "kernels/error.hpp"

namespace scalebench {
namespace {

constexpr std::size_t kMostOutput = 65536;

class Pipe {
 public:
  Pipe() {
    if (::pipe2(ends_.data(), O_CLOEXEC) != 0) fail("no pipe: {}", std::strerror(errno));
  }
  ~Pipe() {
    close_writing();
    ::close(ends_[0]);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  int reading() const { return ends_[0]; }
  int writing() const { return ends_[1]; }
  void close_writing() {
    if (ends_[1] >= 0) ::close(ends_[1]);
    ends_[1] = -1;
  }

 private:
  std::array<int, 2> ends_{-1, -1};
};

/// What a child gets as its standard streams, and a process group of its own to be killed with.
class SpawnPlan {
 public:
  explicit SpawnPlan(int output) {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions_, output, STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions_, output, STDERR_FILENO);
    ::posix_spawnattr_init(&attributes_);
    ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETPGROUP);
    ::posix_spawnattr_setpgroup(&attributes_, 0);
  }
  ~SpawnPlan() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;

  /// The child, or the negative errno.
  pid_t start(const std::vector<std::string>& command) const {
    std::vector<char*> arguments;
    arguments.reserve(command.size() + 1);
    for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    pid_t child = 0;
    const int reason = ::posix_spawnp(&child, arguments.front(), &actions_, &attributes_,
                                      arguments.data(), ::environ);
    return reason == 0 ? child : -reason;
  }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

/// Reads until the end of the output; false when nothing more came for `patience_seconds` or all is
/// too long.
bool read_all(int descriptor, int patience_seconds, std::string& output) {
  std::array<char, 4096> block{};
  while (output.size() < kMostOutput) {
    pollfd ready{descriptor, POLLIN, 0};
    const int events = ::poll(&ready, 1, patience_seconds * 1000);
    if (events < 0 && errno == EINTR) continue;
    if (events <= 0) return false;
    const ssize_t n = ::read(descriptor, block.data(), block.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return n == 0;
    output.append(block.data(), static_cast<std::size_t>(n));
  }
  return false;
}

/// The status with which `child` ends, unless it outlives its closed output by that much.
std::optional<int> wait_for(pid_t child, int patience_seconds) {
  constexpr int kTriesPerSecond = 100;
  for (int tries = 0; tries <= patience_seconds * kTriesPerSecond; ++tries) {
    int status = 0;
    if (::waitpid(child, &status, WNOHANG) == child) return status;
    ::poll(nullptr, 0, 1000 / kTriesPerSecond);
  }
  return std::nullopt;
}

}  // namespace

CommandAnswer ask(const std::vector<std::string>& command, int patience_seconds) {
  Pipe pipe;
  const pid_t child = SpawnPlan(pipe.writing()).start(command);
  if (child < 0) return {false, std::strerror(-child)};
  pipe.close_writing();
  CommandAnswer answer;
  const bool silent = read_all(pipe.reading(), patience_seconds, answer.output);
  const std::optional<int> status = silent ? wait_for(child, patience_seconds) : std::nullopt;
  if (!status) {
    ::kill(-child, SIGKILL);
    while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
    answer.output += fmt::format("\nno answer within {} s, or too long a one", patience_seconds);
  }
  answer.answered = status && WIFEXITED(*status) && WEXITSTATUS(*status) == 0;
  return answer;
}

std::optional<std::filesystem::path> find_program(std::string_view name) {
  const auto executable = [](const std::filesystem::path& file) {
    std::error_code ignored;
    return std::filesystem::is_regular_file(file, ignored) && ::access(file.c_str(), X_OK) == 0;
  };
  if (name.find('/') != std::string_view::npos) {
    return executable(name) ? std::optional<std::filesystem::path>(name) : std::nullopt;
  }
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::filesystem::path file = std::filesystem::path(folder.empty() ? "." : folder) / name;
    if (executable(file)) return file;
  }
  return std::nullopt;
}

}  // namespace scalebench
