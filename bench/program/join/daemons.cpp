// SPDX-License-Identifier: Apache-2.0
#include "bench/program/join/daemons.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>
#include <thread>

#include "bench/launch/process.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

constexpr std::string_view kForShells = "|&<>()";

struct Word {
  std::string text;
  bool has_expansion = false;  // a $ that a shell would replace
};
using Command = std::vector<Word>;

[[noreturn]] void refuse_command(const std::string& line, std::string_view what) {
  fail("mpirun's command for a host {}: {}", what, line.substr(0, 200));
}

/// What mpirun puts around its command where the user's shell is sh or ksh: who comes by ssh has
/// not read his profile yet. Who has met here has his environment.
constexpr std::string_view kProfile = "( test ! -r ./.profile || . ./.profile;";

std::string without_profile(std::string line) {
  const bool has = line.starts_with(kProfile) && line.ends_with(" )");
  return has ? line.substr(kProfile.size(), line.size() - kProfile.size() - 2) : line;
}

/// Between semicolons, each command as its words without quotes.
std::vector<Command> commands_in(const std::string& line) {
  std::vector<Command> commands(1);
  Word word;
  bool in_word = false;
  char quote = 0;
  const auto end_word = [&] {
    if (in_word) commands.back().push_back(word);
    word = {};
    in_word = false;
  };
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    const bool literal = quote == '\'';
    if (quote != 0 && c == quote) {
      quote = 0;
    } else if (quote == 0 && (c == '"' || c == '\'')) {
      quote = c;
      in_word = true;
    } else if (!literal && c == '\\' && i + 1 < line.size()) {
      word.text += line[++i];
      in_word = true;
    } else if (quote == 0 && (c == ' ' || c == '\t')) {
      end_word();
    } else if (quote == 0 && c == ';') {
      end_word();
      commands.emplace_back();
    } else if (c == '\n' || (!literal && c == '`') ||
               (quote == 0 && kForShells.find(c) != std::string_view::npos)) {
      refuse_command(line, "needs a shell");
    } else {
      word.has_expansion = word.has_expansion || (!literal && c == '$');
      word.text += c;
      in_word = true;
    }
  }
  if (quote != 0) refuse_command(line, "has a quote without its end");
  end_word();
  return commands;
}

bool is_setting(const Command& command) {
  if (command.empty()) return true;
  if (command.front().text == "export") return true;
  return command.size() == 1 && command.front().text.find('=') != std::string::npos;
}

using Clock = std::chrono::steady_clock;
namespace fs = std::filesystem;

/// Field 4 of /proc/PID/stat; the name in field 2 may hold blanks and brackets. 0: it is gone.
pid_t parent_of(const fs::path& process) {
  std::ifstream file(process / "stat");
  std::string line;
  std::getline(file, line);
  const std::size_t name_end = line.rfind(')');
  int parent = 0;
  char state = 0;
  if (name_end == std::string::npos ||
      std::sscanf(line.c_str() + name_end + 1, " %c %d", &state, &parent) != 2) {
    return 0;
  }
  return parent;
}

bool write_whole(const char* path, const std::string& text) {
  const int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool written = write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  close(file);
  return written;
}

/// A host name for this process and what it starts. Made before a fork, as a child may not
/// allocate.
class OwnHostName {
 public:
  explicit OwnHostName(std::string name)
      : name_(std::move(name)),
        users_(fmt::format("{0} {0} 1\n", geteuid())),
        groups_(fmt::format("{0} {0} 1\n", getegid())) {}

  /// In a child: whether it worked. A user needs a namespace of users around that of names.
  bool take() const {
    if (unshare(CLONE_NEWUTS) != 0) {
      if (unshare(CLONE_NEWUSER | CLONE_NEWUTS) != 0) return false;
      if (!write_whole("/proc/self/uid_map", users_) ||
          !write_whole("/proc/self/setgroups", kDeny) ||
          !write_whole("/proc/self/gid_map", groups_)) {
        return false;
      }
    }
    return sethostname(name_.data(), name_.size()) == 0;
  }

 private:
  static inline const std::string kDeny = "deny";
  std::string name_, users_, groups_;
};

}  // namespace

bool is_daemon_command(const std::vector<std::string>& argv) {
  if (argv.empty()) return false;
  const std::string name = std::filesystem::path(argv.front()).filename();
  return name == "orted" || name == "prted";
}

std::vector<std::string> daemon_command(const std::vector<std::string>& words) {
  const std::string line = without_profile(fmt::format("{}", fmt::join(words, " ")));
  const std::vector<Command> commands = commands_in(line);
  if (!std::all_of(commands.begin(), commands.end() - 1, is_setting)) {
    refuse_command(line, "is more than one");
  }
  std::vector<std::string> argv;
  for (const Word& word : commands.back()) {
    if (word.has_expansion) refuse_command(line, "needs a shell");
    argv.push_back(word.text);
  }
  if (!is_daemon_command(argv)) refuse_command(line, "is not orted or prted");
  return argv;
}

bool can_name_hosts() {
  const OwnHostName name("scalebench");
  heed_children();
  const pid_t child = fork();
  if (child == 0) _exit(name.take() ? 0 : 1);
  int status = 0;
  return child > 0 && waitpid(child, &status, 0) == child && exit_status(status) == 0;
}

pid_t start_process(const std::vector<std::string>& argv, bool stdout_to_stderr,
                    const std::string& host) {
  std::vector<char*> words;  // made here, as a child may not allocate
  for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  const OwnHostName name(host);
  heed_children();
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) fail("fork: {}", std::strerror(errno));
  if (child > 0) return child;
  if (!host.empty()) static_cast<void>(name.take());
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(127);
  dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
  if (stdout_to_stderr) dup2(STDERR_FILENO, STDOUT_FILENO);
  execvp(words[0], words.data());
  dprintf(STDERR_FILENO, "%s: %s\n", words[0], std::strerror(errno));
  _exit(127);
}

namespace {

/// Whether a child has ended, and how. Where somebody else has heard of its end, nobody knows how:
/// it has failed.
std::optional<int> end_of(pid_t child) {
  constexpr int kUnknown = 255;
  int status = 0;
  const pid_t ended = waitpid(child, &status, WNOHANG);
  if (ended == child) return exit_status(status);
  return ended < 0 && errno != EINTR ? std::optional(kUnknown) : std::nullopt;
}

}  // namespace

int exit_status(int wait_status) {
  return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
}

Daemons::Daemons(bool adopts) : adopts_(adopts) {
  if (adopts_) prctl(PR_SET_CHILD_SUBREAPER, 1);
}

pid_t Daemons::start(const std::vector<std::string>& argv, const std::string& host) {
  return running_.emplace_back(start_process(argv, /*stdout_to_stderr=*/true, host));
}

void Daemons::stop(pid_t daemon) const {
  if (std::ranges::find(running_, daemon) != running_.end()) kill(daemon, SIGTERM);
}

std::vector<Daemons::Ended> Daemons::ended() {
  std::vector<Ended> ended;
  std::erase_if(running_, [&](pid_t daemon) {
    const std::optional<int> status = end_of(daemon);
    if (status) ended.push_back({daemon, *status});
    return status.has_value();
  });
  return ended;
}

std::vector<pid_t> Daemons::children() const {
  if (!adopts_) return running_;
  std::vector<pid_t> children;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename();
    const bool is_process = name.find_first_not_of("0123456789") == std::string::npos;
    if (is_process && parent_of(entry.path()) == getpid()) children.push_back(std::stoi(name));
  }
  return children;
}

void Daemons::end_all(std::chrono::milliseconds grace) {
  const Clock::time_point deadline = Clock::now() + grace;
  std::vector<pid_t> asked;
  // Whatever a child leaves behind is a child in the next turn.
  for (auto left = children(); !left.empty(); left = children()) {
    for (const pid_t child : left) {
      if (end_of(child)) {
        std::erase(running_, child);
      } else if (Clock::now() >= deadline) {
        kill(child, SIGKILL);
      } else if (std::ranges::find(asked, child) == asked.end()) {
        kill(child, SIGTERM);
        asked.push_back(child);
      }
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

}  // namespace scalebench
