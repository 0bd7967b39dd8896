// SPDX-License-Identifier: Apache-2.0
#include "bench/study/launch.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <thread>

#include "bench/record/file.hpp"
#include "bench/study/launcher.hpp"
#include "bench/study/layout.hpp"
#include "kernels/error.hpp"

namespace scalebench {
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
  std::ifstream lines(log);
  std::string signal, last;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("rank ")) return line;
    if (signal.empty() && line.find(" exited on signal ") != std::string::npos) signal = line;
    const bool text = line.find_first_not_of("-= \t") != std::string::npos;
    if (text) last = line;
  }
  return signal.empty() ? last : signal;
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
  end.ok = asked_to_end < 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
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
