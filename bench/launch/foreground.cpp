// SPDX-License-Identifier: Apache-2.0
#include "bench/launch/foreground.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "kernels/error.hpp"

namespace scalebench {
namespace {

constexpr int kBySignal = 128;  // and its number: the exit code of what a signal ended
constexpr std::string_view kExitCode = "Exit code: ";

/// What mpirun says only when there were ranks.
constexpr std::array<std::string_view, 5> kBegun{
    " exited on signal ", "returned a non-zero exit code", "exited with non-zero status",
    "exiting improperly", "lost communication with a remote daemon"};

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// Codes with which programs of the suite end, or whoever is told to end; but one, with which
/// mpirun ends by itself too.
bool is_of_ranks(int code) {
  constexpr int kUsage = 2, kInternal = 5, kInterrupted = 130, kReaderLeft = 141, kTerminated = 143;
  return code == 0 || (code >= kUsage && code <= kInternal) || code == kInterrupted ||
         code == kReaderLeft || code == kTerminated;
}

/// Only then is code 1 one of ranks.
bool asks_for_verdict(const std::vector<std::string>& command) {
  return std::ranges::any_of(command,
                             [](const std::string& word) { return word.starts_with("--fail-on"); });
}

}  // namespace

bool MpirunPages::take(std::string_view line) {
  const bool is_rule = is_page_rule(line);
  if (!inside_ && !is_rule) return false;
  lines_.append(line).append("\n");
  if (inside_ && is_rule) close();
  if (is_rule) inside_ = !inside_;
  return true;
}

void MpirunPages::close() {
  Page page;
  bool has_begun = true;  // of `begins`: more of it comes
  std::istringstream lines(lines_);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(is_page_rule(line) ? "" : line);
    const bool is_blank = (words >> std::ws).eof();
    if (is_blank && !page.begins.empty() && !page.begins.ends_with(':')) has_begun = false;
    for (std::string word; words >> word;) {
      const std::string next = page.text.empty() ? word : " " + word;
      page.text += next;
      if (has_begun) page.begins += next;
    }
  }
  lines_.clear();
  if (!page.text.empty()) pages_.push_back(std::move(page));
}

MpirunEnd MpirunPages::end(int wait_status, bool may_be_verdict) const {
  constexpr int kRegression = 1;
  const bool was_killed = WIFSIGNALED(wait_status);
  MpirunEnd end;
  end.code = was_killed ? kBySignal + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
  const auto only_tells_the_code = [](const Page& page) {
    return has(page.text, kExitCode) || has(page.text, "returned a non-zero exit code");
  };
  const auto tells_it = [](const Page& page) { return has(page.text, kExitCode); };
  const bool is_regression = may_be_verdict && end.code == kRegression &&
                             std::ranges::any_of(pages_, tells_it) &&
                             std::ranges::all_of(pages_, only_tells_the_code);
  if (is_of_ranks(end.code) || is_regression) return end;

  const auto tells_of_ranks = [](const Page& page) {
    return std::ranges::any_of(kBegun,
                               [&](std::string_view words) { return has(page.text, words); });
  };
  end.kind = was_killed || std::ranges::any_of(pages_, tells_of_ranks) ? MpirunEnd::Kind::cut_off
                                                                       : MpirunEnd::Kind::not_begun;
  const auto tells_signal = [](const Page& page) { return has(page.text, " exited on signal "); };
  auto best = std::ranges::find_if(pages_, tells_signal);
  if (best == pages_.end()) best = pages_.begin();
  end.why = was_killed ? fmt::format("mpirun was killed by signal {}", WTERMSIG(wait_status))
                       : fmt::format("mpirun ended with code {}", end.code);
  if (best != pages_.end()) end.why += ": " + best->begins;
  return end;
}

namespace {

// While a launcher runs, what is sent to this process alone is passed on. What a terminal sends
// has reached the launcher too, which takes a second one for impatience.
class SignalsPassedOn {
 public:
  /// They wait until there is somebody to pass them on to.
  SignalsPassedOn() {
    sigset_t held;
    sigemptyset(&held);
    for (const int signal : kSignals) sigaddset(&held, signal);
    sigprocmask(SIG_BLOCK, &held, &mask_before_);
  }
  SignalsPassedOn(const SignalsPassedOn&) = delete;
  SignalsPassedOn& operator=(const SignalsPassedOn&) = delete;

  void to(pid_t child) {
    child_ = child;
    latest_ = 0;
    struct sigaction action {};
    action.sa_flags = SA_SIGINFO;
    action.sa_sigaction = [](int signal, siginfo_t* info, void*) {
      latest_ = signal;
      if (info->si_code <= 0) kill(child_, signal);  // of a process
    };
    for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &action, &before_[i]);
    sigprocmask(SIG_SETMASK, &mask_before_, nullptr);
  }
  /// That came; 0: none.
  int latest() const { return latest_; }
  /// In the child, which is to begin as this process did.
  void forget() const { sigprocmask(SIG_SETMASK, &mask_before_, nullptr); }

  ~SignalsPassedOn() {
    if (child_ == 0) {
      forget();
    } else {
      restore();
    }
  }

 private:
  void restore() {
    for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before_[i], nullptr);
    child_ = 0;
  }

  static constexpr std::array<int, 3> kSignals{SIGINT, SIGTERM, SIGHUP};
  sigset_t mask_before_{};
  std::array<struct sigaction, kSignals.size()> before_{};
  // A signal handler can reach nothing else.
  static inline std::atomic<pid_t> child_ = 0;
  static inline std::atomic<int> latest_ = 0;
};

[[noreturn]] void exec_or_end(const std::vector<std::string>& command,
                              const Variables& environment) {
  for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  dprintf(STDERR_FILENO, "%s: %s\n", argv[0], std::strerror(errno));
  _exit(127);
}

/// Lines of a stream that comes in pieces.
class Lines {
 public:
  Lines(MpirunPages& pages, const std::function<void(std::string_view)>& say)
      : pages_(pages), say_(say) {}
  void add(std::string_view piece) {
    begun_ += piece;
    std::erase(begun_, '\0');  // Open MPI 5 writes the end of its messages, too
    for (std::size_t end = 0; (end = begun_.find('\n')) != std::string::npos;) {
      const std::string line = begun_.substr(0, end);
      begun_.erase(0, end + 1);
      if (!pages_.take(line)) say_(line + "\n");
    }
  }
  void finish() {
    say_(pages_.unfinished() + begun_);
    begun_.clear();
  }

 private:
  MpirunPages& pages_;
  const std::function<void(std::string_view)>& say_;
  std::string begun_;
};

}  // namespace

MpirunEnd run_in_foreground(const std::vector<std::string>& command, const Variables& environment,
                            const std::function<void(std::string_view)>& say) {
  constexpr int kBetweenLooksMs = 50;
  std::array<int, 2> pipe{};
  if (pipe2(pipe.data(), O_CLOEXEC) != 0) fail("no pipe: {}", std::strerror(errno));
  heed_children();
  SignalsPassedOn signals;
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) fail("fork: {}", std::strerror(errno));
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);  // it takes its ranks along
    if (getppid() != parent) _exit(127);
    signals.forget();
    dup2(pipe[1], STDERR_FILENO);
    exec_or_end(command, environment);
  }
  close(pipe[1]);
  signals.to(child);

  MpirunPages pages;
  Lines lines(pages, say);
  std::array<char, 4096> block{};
  int status = 0;
  bool runs = true, is_open = true;
  while (is_open) {
    // What it left behind may hold the stream open: only what is there already is read then.
    pollfd ready{pipe[0], POLLIN, 0};
    const int events = poll(&ready, 1, runs ? kBetweenLooksMs : 0);
    if (events > 0) {
      const ssize_t count = read(pipe[0], block.data(), block.size());
      if (count > 0) lines.add({block.data(), static_cast<std::size_t>(count)});
      is_open = count > 0 || (count < 0 && errno == EINTR);
    } else if (!runs && events == 0) {
      break;
    }
    if (runs) runs = waitpid(child, &status, WNOHANG) != child;
  }
  close(pipe[0]);
  while (runs && waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  lines.finish();
  const MpirunEnd end = pages.end(status, asks_for_verdict(command));
  // Open MPI 4.1 ends with 1 when it is told to.
  const bool was_told = signals.latest() != 0 && end.kind != MpirunEnd::Kind::of_ranks;
  return was_told ? MpirunEnd{MpirunEnd::Kind::of_ranks, kBySignal + signals.latest(), ""} : end;
}

}  // namespace scalebench
