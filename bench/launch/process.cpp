// SPDX-License-Identifier: Apache-2.0
#include "bench/launch/process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <re2/re2.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "bench/launch/launch_mark.hpp"
#include "bench/machine/descriptor.hpp"
#include "bench/machine/host_files.hpp"
#include "bench/record/file.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

constexpr int kGraceSeconds = 10;

/// Starts `command` in a process group of its own, whose number is returned, with an empty stdin
/// and with `environment` added to this process's. One that cannot be started ends with 127 and
/// "program: reason" on `err`.
pid_t start(const std::vector<std::string>& command, const Variables& environment, int out,
            int err) {
  // Where whoever started this process had it ignore its children's ends, their exit status would
  // be lost, and a failure pass for success.
  std::signal(SIGCHLD, SIG_DFL);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) fail("fork: {}", std::strerror(errno));
  if (child == 0) {
    setpgid(0, 0);
    // A launch without the study that started it would disturb the next one: when that is killed,
    // the launcher is asked to end, and takes its ranks along.
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(127);
    dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    try {
      become(command, environment);
    } catch (const Error& error) {
      dprintf(STDERR_FILENO, "%s\n", error.what());
    }
    _exit(127);
  }
  setpgid(child, child);
  return child;
}

/// Whether the end of the output came: false once nothing more comes for `patience_seconds`.
bool read_all(int descriptor, int patience_seconds, std::string& output) {
  std::array<char, 4096> block{};
  for (pollfd ready{descriptor, POLLIN, 0};;) {
    const int events = ::poll(&ready, 1, patience_seconds * 1000);
    if (events == 0) return false;
    const ssize_t n = events < 0 ? -1 : ::read(descriptor, block.data(), block.size());
    if (n == 0) return true;
    if (n > 0) output.append(block.data(), static_cast<std::size_t>(n));
  }
}

/// What waitpid says of a child that has ended; it does not wait.
std::optional<int> end_of(pid_t child) {
  int status = 0;
  return ::waitpid(child, &status, WNOHANG) == child ? std::optional(status) : std::nullopt;
}

/// Why a killed process is waited for no longer. In state D it is in a call of the kernel that
/// cannot be broken off: of a disk, of a file server that is gone, of a driver.
std::string still_there(pid_t process) {
  return fmt::format("process {} was killed and does not end (state {})", process,
                     state_of(process));
}

/// How `child` ends, unless it outlives its closed output by that much.
std::optional<int> wait_for(pid_t child, int patience_seconds) {
  constexpr int kTriesPerSecond = 100;
  std::optional<int> end;
  for (int tries = 0; !end && tries <= patience_seconds * kTriesPerSecond; ++tries) {
    if (tries > 0) ::poll(nullptr, 0, 1000 / kTriesPerSecond);
    end = end_of(child);
  }
  return end;
}

}  // namespace

CommandAnswer ask(const std::vector<std::string>& command, int patience_seconds,
                  const Variables& environment) {
  Pipe pipe;
  const pid_t child = start(command, environment, pipe.writing(), pipe.writing());
  pipe.close_writing();
  CommandAnswer answer;
  std::optional<int> end;
  if (read_all(pipe.reading(), patience_seconds, answer.output)) {
    end = wait_for(child, patience_seconds);
  }
  if (!end) {
    ::kill(-child, SIGKILL);
    answer.output += fmt::format("\nno answer within {} s", patience_seconds);
    if (!wait_for(child, kGraceSeconds)) answer.output += "\n" + still_there(child);
  }
  if (end && WIFEXITED(*end)) answer.code = WEXITSTATUS(*end);
  answer.answered = answer.code == 0;
  return answer;
}

char state_of(pid_t process) {
  const std::vector<std::string> fields = fields_behind_name(fmt::format("/proc/{}", process));
  return fields.empty() ? '?' : fields.front().front();
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

void become(const std::vector<std::string>& command, const Variables& environment) {
  for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  ::execvp(argv[0], argv.data());
  fail("{}: {}", command.front(), std::strerror(errno));
}

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

Descriptor open_log(const std::filesystem::path& path) {
  Descriptor log(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!log.is_open()) refuse_write(fmt::format("cannot write '{}'", path.string()), errno);
  return log;
}

/// How many processes the kernel has ended on this host since it booted because memory was short,
/// its own or that of a control group; 0 where it does not count them.
std::uint64_t killed_for_memory() {
  std::ifstream counters("/proc/vmstat");
  std::string name;
  for (std::uint64_t count = 0; counters >> name >> count;) {
    if (name == "oom_kill") return count;
  }
  return 0;
}

/// A launcher ends as a shell does, with 128 and the signal that a rank was killed by. Open MPI 4.1
/// says no more than this of a rank that is killed while it starts.
std::string how_it_ended(int status, const std::string& said) {
  constexpr int kKilled = 128;
  const int code = WEXITSTATUS(status);
  const char* signal = code > kKilled ? sigabbrev_np(code - kKilled) : nullptr;
  const std::string how = WIFSIGNALED(status)
                              ? fmt::format("killed by signal {}", strsignal(WTERMSIG(status)))
                          : signal != nullptr ? fmt::format("exit code {} (SIG{})", code, signal)
                                              : fmt::format("exit code {}", code);
  return said.empty() ? how : fmt::format("{}: {}", how, said);
}

LaunchEnd run_once(const std::vector<std::string>& command, const Variables& environment,
                   const std::filesystem::path& folder, double deadline_seconds,
                   const std::atomic<bool>& stop) {
  const Descriptor out = open_log(folder / "stdout.log");
  const Descriptor err = open_log(folder / "stderr.log");
  const std::uint64_t killed_before = killed_for_memory();
  const Clock::time_point begin = Clock::now();
  Variables marked = environment;
  marked.push_back(launch_mark(folder));
  const pid_t child = start(command, marked, out.number(), err.number());

  LaunchEnd end;
  std::optional<int> ended;
  while (!(ended = end_of(child)) && !stop && seconds_since(begin) <= deadline_seconds) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  const bool by_itself = ended.has_value();
  LaunchProcesses ranks(folder);
  if (!by_itself) {
    end.interrupted = stop;
    ::kill(-child, SIGTERM);
    ended = wait_for(child, kGraceSeconds);
  }
  ::kill(-child, SIGKILL);  // also what mpirun may have left in its group
  // What nobody can end the launches to come need not wait for.
  if (!ended) ended = wait_for(child, kGraceSeconds);
  ranks.end(std::chrono::seconds(0));
  end.ok = by_itself && WIFEXITED(*ended) && WEXITSTATUS(*ended) == 0;
  if (end.interrupted) {
    end.why = "interrupted";
  } else if (!end.ok) {
    const std::string said = said_in(read_file(folder / "stderr.log"));
    end.why = by_itself ? how_it_ended(*ended, said)
                        : fmt::format("did not end within {:.0f} s: {}", deadline_seconds, said);
  }
  if (!ended) end.why += "; " + still_there(child);
  const std::uint64_t killed = killed_for_memory() - killed_before;
  if (!end.ok && !end.interrupted && killed > 0) {
    end.why += fmt::format(
        "; memory was short: meanwhile the kernel ended {} process(es) on this host", killed);
  }
  return end;
}

}  // namespace

std::string shell_line(const std::vector<std::string>& command) {
  static const RE2 kPlain(R"([\w./,=:+@%-]+)");
  std::string line;
  for (std::string word : command) {
    if (!RE2::FullMatch(word, kPlain)) {
      RE2::GlobalReplace(&word, "'", R"('\\'')");
      word = "'" + word + "'";
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return line;
}

std::string said_in(std::string_view output) {
  // Open MPI 5 breaks its lines, and writes the end of its messages, too.
  static const RE2 kOfRank("(?m)^(rank .*)$", RE2::Latin1);
  static const RE2 kSignal(R"((?m)^(.*\sexited\s+on\s+signal\s.*)$)", RE2::Latin1);
  static const RE2 kInRules(R"((?ms)^[-=* \t]{60,}$.*?(?:^[-=* \t]{60,}$|\z))", RE2::Latin1);
  static const RE2 kFirst(R"((?m)^(.*[^-=*\s].*)$)", RE2::Latin1);
  static const RE2 kLast(R"((?ms).*^([^\n]*[^-=*\s][^\n]*)$)", RE2::Latin1);
  std::string text(output), said;
  std::erase_if(text, [](char c) { return c == '\0' || c == '\r'; });  // ssh ends lines by both
  if (RE2::PartialMatch(text, kOfRank, &said)) return said;
  if (RE2::PartialMatch(text, kSignal, &said)) {
    std::ranges::replace(said, '\n', ' ');
    return said;
  }
  std::string outside = text;
  RE2::GlobalReplace(&outside, kInRules, "");
  if (!RE2::PartialMatch(outside, kLast, &said)) RE2::PartialMatch(text, kFirst, &said);
  return said;
}

bool lost_its_folder(std::string_view said) {
  return said.find("unable to create the desired directory") != std::string_view::npos;
}

LaunchEnd run_launch(const std::vector<std::string>& command, const Variables& environment,
                     const std::filesystem::path& folder, double deadline_seconds,
                     const std::atomic<bool>& stop) {
  write_file_atomically(folder / "command.txt", shell_line(command) + "\n");
  const Clock::time_point begin = Clock::now();
  LaunchEnd end;
  for (int attempt = 0; attempt < 3; ++attempt) {
    end = run_once(command, environment, folder, deadline_seconds, stop);
    const bool again = !end.ok && !end.interrupted;
    if (!again || !lost_its_folder(read_file(folder / "stderr.log"))) break;
  }
  end.seconds = seconds_since(begin);
  return end;
}

}  // namespace scalebench
