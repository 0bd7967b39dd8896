// SPDX-License-Identifier: Apache-2.0
#include "bench/launch/process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
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
#include <fstream>
#include <sstream>
#include <thread>

#include "bench/launch/hosts.hpp"
#include "bench/launch/launcher.hpp"
#include "bench/record/file.hpp"
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

namespace {

using Clock = std::chrono::steady_clock;
constexpr double kGraceSeconds = 10;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

int open_log(const std::filesystem::path& path) {
  const int descriptor = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor < 0) fail("{}: {}", path.string(), std::strerror(errno));
  return descriptor;
}

/// In the child: becomes the command, or ends with 127 and a reason on stderr.
[[noreturn]] void become(const std::vector<std::string>& command, const LaunchSettings& settings,
                         int out, int err, pid_t parent) {
  setpgid(0, 0);
  // A launch without the study that started it would disturb the next one: when that is killed, the
  // launcher is asked to end, and takes its ranks along.
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(127);
  dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  for (const auto& [name, value] : settings.environment) setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  dprintf(STDERR_FILENO, "%s: %s\n", argv[0], std::strerror(errno));
  _exit(127);
}

/// The line of stderr that says most: ours (`rank 1 host: what`), else mpirun's about a signal,
/// else the last one.
std::string reason_in(const std::filesystem::path& log) {
  const auto tells_signal = [](const std::string& line) {
    return line.find(" exited on signal ") != std::string::npos;
  };
  std::ifstream lines(log);
  std::string signal, last;
  for (std::string line; std::getline(lines, line);) {
    std::erase(line, '\0');  // Open MPI 5 writes the end of its messages, too
    if (line.starts_with("rank ")) return line;
    // Open MPI 5 wraps what it says.
    const std::string wrapped = last + " " + line;
    if (signal.empty() && tells_signal(line)) signal = line;
    if (signal.empty() && tells_signal(wrapped)) signal = wrapped;
    const bool text = line.find_first_not_of("-= \t") != std::string::npos;
    if (text) last = line;
  }
  return signal.empty() ? last : signal;
}

/// Open MPI 5.0 ends with 0 when a host is lost.
bool has_lost_a_host(const std::filesystem::path& log) {
  std::ifstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    if (line.find("PRTE has lost communication with a remote daemon") != std::string::npos) {
      return true;
    }
  }
  return false;
}

std::string describe(int status, const std::filesystem::path& log) {
  const std::string how = WIFSIGNALED(status)
                              ? fmt::format("killed by signal {}", strsignal(WTERMSIG(status)))
                              : fmt::format("exit code {}", WEXITSTATUS(status));
  const std::string said = reason_in(log);
  return said.empty() ? how : fmt::format("{}: {}", how, said);
}

}  // namespace

double deadline_seconds(const PlannedLaunch& launch) {
  return std::max(60.0, 5 * launch.guess_seconds);
}

int backstop_seconds(const PlannedLaunch& launch) {
  return static_cast<int>(deadline_seconds(launch) + 3 * kGraceSeconds);
}

Hosts hosts_of(const PlannedLaunch& launch, const LaunchSettings& settings) {
  if (settings.hosts.empty() || launch.nodes == 0) return {};
  return hosts_of(Layout{launch.nodes, launch.per_node}, settings.hosts, settings.oversubscribe);
}

std::vector<std::string> command_of(const PlannedLaunch& launch, const LaunchSettings& settings,
                                    const std::filesystem::path& out) {
  std::vector<std::string> command =
      launcher_named(settings.launcher).words(launch, settings, hosts_of(launch, settings));
  command.insert(command.end(), settings.mpirun_arguments.begin(), settings.mpirun_arguments.end());
  command.push_back((settings.programs / launch.program).string());
  command.insert(command.end(), launch.arguments.begin(), launch.arguments.end());
  command.insert(command.end(), {"--quiet", "--out", out.string(), "--run-id", settings.run_id,
                                 "--launch", std::to_string(launch.number)});
  return command;
}

std::string shell_line(const std::vector<std::string>& command) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./,=:+@%";
  std::string line;
  for (const std::string& word : command) {
    if (!line.empty()) line += ' ';
    if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) {
      line += word;
      continue;
    }
    line += '\'';
    for (const char c : word) line += c == '\'' ? std::string("'\\''") : std::string(1, c);
    line += '\'';
  }
  return line;
}

LaunchEnd run_launch(const std::vector<std::string>& command, const LaunchSettings& settings,
                     const std::filesystem::path& folder, double deadline_seconds,
                     const std::atomic<bool>& stop) {
  write_file_atomically(folder / "command.txt", shell_line(command) + "\n");
  const int out = open_log(folder / "stdout.log");
  const int err = open_log(folder / "stderr.log");
  const Clock::time_point begin = Clock::now();
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) fail("fork: {}", std::strerror(errno));
  if (child == 0) become(command, settings, out, err, parent);
  setpgid(child, child);
  close(out);
  close(err);

  LaunchEnd end;
  int status = 0;
  double asked_to_end = -1;  // seconds after begin; -1: not asked
  while (waitpid(child, &status, WNOHANG) == 0) {
    const double now = seconds_since(begin);
    if (asked_to_end < 0 && (stop || now > deadline_seconds)) {
      end.interrupted = stop;
      asked_to_end = now;
      kill(-child, SIGTERM);
    } else if (asked_to_end >= 0 && now > asked_to_end + kGraceSeconds) {
      kill(-child, SIGKILL);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  // What mpirun may have left in its group. Ranks are in groups of their own: they end by
  // themselves when they notice that mpirun is gone.
  kill(-child, SIGKILL);
  end.seconds = seconds_since(begin);
  end.ok = asked_to_end < 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0 &&
           !has_lost_a_host(folder / "stderr.log");
  if (end.interrupted) {
    end.why = "interrupted";
  } else if (asked_to_end >= 0) {
    end.why = fmt::format("did not end within {:.0f} s: {}", deadline_seconds,
                          reason_in(folder / "stderr.log"));
  } else if (!end.ok) {
    end.why = describe(status, folder / "stderr.log");
  }
  return end;
}

}  // namespace scalebench
