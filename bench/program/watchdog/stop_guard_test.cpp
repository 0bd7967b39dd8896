// SPDX-License-Identifier: Apache-2.0
#include "bench/program/watchdog/stop_guard.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <thread>

namespace scalebench {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::Not;

constexpr milliseconds kEvery{50};

/// What a process has said, and how it has ended, once it has.
struct End {
  std::string said;
  int signal = 0;
};

/// A process with a guard that goes its way.
class Guarded {
 public:
  explicit Guarded(const std::function<void(StopGuard&)>& life) {
    if (pipe(said_.data()) != 0) std::abort();
    process_ = fork();
    if (process_ == 0) {
      dup2(said_[1], STDERR_FILENO);
      close(said_[0]);
      close(said_[1]);
      setenv("PMIX_RANK", "7", 1);
      {
        StopGuard guard(1, &program_invocation_name, kEvery);
        life(guard);
      }
      _exit(0);
    }
    close(said_[1]);
  }
  ~Guarded() { kill(process_, SIGKILL); }

  pid_t process() const { return process_; }
  void await_stop() const { waitpid(process_, nullptr, WUNTRACED); }
  void go_on() const { kill(process_, SIGCONT); }

  /// Waits for the end of all that has its stderr: of its child too.
  End end() const {
    End end;
    std::array<char, 200> text{};
    for (ssize_t size = 0; (size = read(said_[0], text.data(), text.size())) > 0;) {
      end.said.append(text.data(), static_cast<std::size_t>(size));
    }
    int status = 0;
    waitpid(process_, &status, 0);
    end.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    return end;
  }

 private:
  std::array<int, 2> said_{};
  pid_t process_ = 0;
};

void sleep_long() { std::this_thread::sleep_for(std::chrono::seconds(60)); }

/// The process whose parent that is.
std::optional<pid_t> child_of(pid_t parent) {
  std::ifstream children("/proc/" + std::to_string(parent) + "/task/" + std::to_string(parent) +
                         "/children");
  pid_t child = 0;
  return children >> child ? std::optional(child) : std::nullopt;
}

std::string file_of(pid_t process, const std::string& name) {
  std::ifstream file("/proc/" + std::to_string(process) + "/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(StopGuard, NamesAndEndsAProcessThatIsStopped) {
  const Guarded guarded([](StopGuard&) { raise(SIGSTOP); });
  const End end = guarded.end();
  EXPECT_EQ(end.signal, SIGKILL);
  EXPECT_THAT(end.said,
              MatchesRegex("rank 7 on .* \\(process " + std::to_string(guarded.process()) +
                           "\\) is stopped: it is ended\n"));
}

TEST(StopGuard, SleepsInBetween) {
  const Guarded guarded([](StopGuard& guard) {
    const StopGuard::Rest rest(guard);
    raise(SIGSTOP);
  });
  guarded.await_stop();
  std::this_thread::sleep_for(4 * StopGuard::kLooks * kEvery);
  guarded.go_on();
  const End end = guarded.end();
  EXPECT_EQ(end.signal, 0);
  EXPECT_THAT(end.said, IsEmpty());
}

TEST(StopGuard, WatchesAgainAtTheEnd) {
  const Guarded guarded([](StopGuard& guard) {
    { const StopGuard::Rest rest(guard); }
    raise(SIGSTOP);
  });
  EXPECT_EQ(guarded.end().signal, SIGKILL);
}

TEST(StopGuard, EndsWithAProcessThatEndsOrIsKilled) {
  EXPECT_THAT(Guarded([](StopGuard&) {}).end().said, IsEmpty());
  const Guarded killed([](StopGuard&) { sleep_long(); });
  kill(killed.process(), SIGKILL);
  EXPECT_EQ(killed.end().signal, SIGKILL) << "or the end of its stderr would not come";
}

TEST(StopGuard, IsNoRankForWhoeverLooksForRanks) {
  const Guarded guarded([](StopGuard&) { sleep_long(); });
  std::optional<pid_t> child;
  while (!(child = child_of(guarded.process())) || file_of(*child, "comm") != "stop_guard\n") {
    std::this_thread::sleep_for(milliseconds(5));
  }
  // Its variables and its words are gone a moment after it has its name.
  const auto shows = [&](const char* file, const char* text) {
    return file_of(*child, file).find(text) != std::string::npos;
  };
  while (shows("environ", "PATH=") || shows("cmdline", "stop_guard_test")) {
    std::this_thread::sleep_for(milliseconds(5));
  }
  EXPECT_THAT(file_of(guarded.process(), "environ"), HasSubstr("PATH="));
  EXPECT_THAT(file_of(guarded.process(), "cmdline"), HasSubstr("stop_guard_test"));
}

}  // namespace
}  // namespace scalebench
