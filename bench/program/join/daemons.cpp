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
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>
#include <thread>

#include "bench/launch/process.hpp"
#include "bench/machine/host_files.hpp"
#include "kernels/error.hpp"
#include "kernels/read_number.hpp"

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

std::string without_profile(const std::string& line) {
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

constexpr std::array<std::string_view, 2> kDaemons{"orted", "prted"};  // of Open MPI 4, of 5

// What mpirun tells its daemons, which is read from its sources: orte_plm_base_orted_append_basic_
// args of 4.1, prte_plm_base_prted_append_basic_args of PRRTE 3 and 4. A parameter may name a
// program (plm_rsh_agent, orte_launch_agent), a folder of libraries (mca_base_component_path) or a
// file of more parameters, so that none passes which is not known to be harmless.

constexpr std::array<std::string_view, 8> kFlags{
    "--allow-run-as-root",      "--daemonize",       "--debug",      "--debug-daemons",
    "--leave-session-attached", "--report-bindings", "--tree-spawn", "--uniform-nodes"};
constexpr std::array<std::string_view, 7> kOptions{"-mca",  "--mca",     "-gmca",    "--gmca",
                                                   "-omca", "--prtemca", "--pmixmca"};

/// Of the daemon itself, with a text for a value. PREFIXES are names of frameworks: those whose
/// parameters are PRRTE's.
constexpr std::array<std::string_view, 10> kParameters{
    "ess", "ess_base_nspace", "orte_hnp_uri",    "orte_node_regex", "orte_parent_uri",
    "plm", "prte_hnp_uri",    "prte_node_regex", "prte_parent_uri", "PREFIXES"};
/// Frameworks whose parameters choose and tune how ranks are placed and how they communicate.
constexpr std::array<std::string_view, 20> kFrameworks{
    "bml", "btl",  "coll", "grpcomm", "hwloc",  "mpi",   "mpool", "mtl",    "oob",   "opal_common",
    "osc", "pmix", "pml",  "ras",     "rcache", "rmaps", "rml",   "routed", "shmem", "topo"};
/// In the name of a parameter: it is of a program, a library or a file, be its value a number.
constexpr std::array<std::string_view, 10> kForFiles{
    "agent", "cmd", "command", "directory", "_dir", "env", "exec", "file", "path", "xterm"};
/// How the first process itself has mpirun come here.
constexpr std::array<std::string_view, 2> kAgents{"plm_rsh_agent", "plm_ssh_agent"};

bool is_one_of(std::span<const std::string_view> list, std::string_view word) {
  return std::ranges::find(list, word) != list.end();
}

bool is_of_framework(std::string_view name) {
  return std::ranges::any_of(kFrameworks, [&](std::string_view framework) {
    return name.starts_with(framework) &&
           (name.size() == framework.size() || name[framework.size()] == '_');
  });
}

bool is_number_or_truth(std::string_view value) {
  return value == "true" || value == "false" ||
         (!value.empty() && value.find_first_not_of("0123456789") == value.npos);
}

/// No path: a '/' is part of "tcp://" or of a range of addresses ("10.0.0.0/8"). An address of a
/// file (file:/tmp/uri) is one.
bool is_plain(std::string_view value) {
  if (value.starts_with("file:")) return false;
  for (std::size_t at = value.find('/'); at != value.npos; at = value.find('/', at + 1)) {
    const std::string_view before = value.substr(0, at), after = value.substr(at + 1);
    const bool is_of_scheme =
        (before.ends_with(':') && after.starts_with('/')) || before.ends_with(":/");
    const bool is_of_range =
        !before.empty() && !after.empty() && after[0] >= '0' && after[0] <= '9';
    if (!is_of_scheme && !is_of_range) return false;
  }
  return true;
}

bool may_pass(std::string_view name, std::string_view value) {
  if (name == "ess") return value == "env";
  if (name == "plm") return value == "rsh" || value == "ssh";
  const auto holds = [&](std::string_view part) { return name.find(part) != name.npos; };
  if (std::ranges::any_of(kForFiles, holds)) return false;
  if (is_number_or_truth(value)) return true;
  return is_plain(value) && (is_one_of(kParameters, name) || is_of_framework(name));
}

/// Throws Error for the first argument that may not pass.
void require_known(const DaemonRequest& request) {
  const std::vector<std::string>& words = request.arguments;
  for (std::size_t at = 0; at < words.size(); ++at) {
    if (is_one_of(kFlags, words[at])) continue;
    if (!is_one_of(kOptions, words[at]) || at + 2 >= words.size()) {
      fail(
          "mpirun's command for a host: '{}' is none of the arguments that {} is started with here",
          words[at].substr(0, 200), request.name);
    }
    const std::string& name = words[++at];
    const std::string& value = words[++at];
    if (may_pass(name, value)) continue;
    fail(
        "mpirun's command for a host: {} '{}' is none of the parameters that {} is started with "
        "here; set it in openmpi-mca-params.conf on each host",
        name.substr(0, 200), value.substr(0, 200), request.name);
  }
}

/// Where a program and all that its links lead to lie.
std::vector<fs::path> folders_of(fs::path program) {
  constexpr int kMostLinks = 40;  // as the kernel
  std::vector<fs::path> folders;
  std::error_code error;
  for (int links = 0; links < kMostLinks; ++links) {
    folders.push_back(fs::absolute(program).parent_path());
    const fs::path next = fs::read_symlink(program, error);
    if (error) break;
    program = program.parent_path() / next;
  }
  return folders;
}

/// Of a process' folder in /proc. 0: it is gone.
pid_t parent_of(const fs::path& process) {
  const std::vector<std::string> fields = fields_behind_name(process);
  return fields.size() > 1 ? read_number<pid_t>(fields[1]).value_or(0) : 0;
}

bool write_whole(const char* path, std::string_view text) {
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
          !write_whole("/proc/self/setgroups", "deny") ||
          !write_whole("/proc/self/gid_map", groups_)) {
        return false;
      }
    }
    return sethostname(name_.data(), name_.size()) == 0;
  }

 private:
  std::string name_, users_, groups_;
};

}  // namespace

DaemonRequest daemon_request(const std::vector<std::string>& words) {
  const std::string line = without_profile(fmt::format("{}", fmt::join(words, " ")));
  const std::vector<Command> commands = commands_in(line);
  if (!std::all_of(commands.begin(), commands.end() - 1, is_setting)) {
    refuse_command(line, "is more than one");
  }
  DaemonRequest request;
  for (const Word& word : commands.back()) {
    if (word.has_expansion) refuse_command(line, "needs a shell");
    request.arguments.push_back(word.text);
  }
  std::vector<std::string>& arguments = request.arguments;
  if (!arguments.empty()) {
    request.name = fs::path(arguments.front()).filename();
    arguments.erase(arguments.begin());
  }
  if (!is_one_of(kDaemons, request.name)) refuse_command(line, "is not orted or prted");
  for (std::size_t at = 0; at + 2 < arguments.size();) {
    if (!is_one_of(kOptions, arguments[at])) {
      ++at;
      continue;
    }
    const auto begin = arguments.begin() + static_cast<std::ptrdiff_t>(at);
    // A daemon that starts no others needs none.
    if (is_one_of(kAgents, arguments[at + 1])) {
      arguments.erase(begin, begin + 3);
    } else {
      at += 3;
    }
  }
  return request;
}

fs::path own_daemon() {
  const char* const mpirun = std::getenv(kMpirunVariable);
  std::vector<fs::path> folders;
  if (const auto found = find_program(mpirun == nullptr ? "mpirun" : mpirun))
    folders = folders_of(*found);
  for (const fs::path& folder : folders) {
    for (const std::string_view name : kDaemons) {
      if (const auto daemon = find_program((folder / name).string())) return *daemon;
    }
  }
  for (const std::string_view name : kDaemons) {
    if (const auto daemon = find_program(name)) return fs::absolute(*daemon);
  }
  return {};
}

std::vector<std::string> own_daemon_command(const fs::path& daemon, const DaemonRequest& request) {
  if (daemon.empty()) {
    fail(
        "neither orted nor prted lies beside mpirun or on the PATH: set SCALEBENCH_MPIRUN to the "
        "mpirun of Open MPI");
  }
  if (daemon.filename() != request.name) {
    fail(
        "the first process's mpirun works with {}, and the MPI of this host with {}: set "
        "SCALEBENCH_MPIRUN to an mpirun of the same version on all hosts",
        request.name.substr(0, 20), daemon.string());
  }
  require_known(request);
  std::vector<std::string> argv{daemon.string()};
  argv.insert(argv.end(), request.arguments.begin(), request.arguments.end());
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
