// SPDX-License-Identifier: Apache-2.0
// Processes with a watchdog each, and threads as ranks of one, whose watchdogs are linked. What a
// real launcher makes of it is tested with the programs.
#include "bench/program/watchdog/watchdog.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <thread>

#include "bench/cli/stderr.hpp"
#include "collectives/transport/thread_ranks_test.hpp"

namespace scalebench {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;

constexpr double kStopped = 0.4;  // seconds, of a process that nobody else watches

void pause(int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

/// What a process and its children have said, and how it has ended, once all have.
struct End {
  std::string said;
  int status = 0;
};

/// A process that goes its way.
class Process {
 public:
  explicit Process(const std::function<void()>& life) {
    if (pipe(said_.data()) != 0) std::abort();
    process_ = fork();
    if (process_ == 0) {
      dup2(said_[1], STDERR_FILENO);
      close(said_[0]);
      close(said_[1]);
      setenv("PMIX_RANK", "7", 1);
      life();
      _exit(0);
    }
    close(said_[1]);
  }
  ~Process() { kill(process_, SIGKILL); }

  pid_t number() const { return process_; }

  End end() const {
    End end;
    std::array<char, 200> text{};
    for (ssize_t size = 0; (size = read(said_[0], text.data(), text.size())) > 0;) {
      end.said.append(text.data(), static_cast<std::size_t>(size));
    }
    waitpid(process_, &end.status, 0);
    return end;
  }

 private:
  std::array<int, 2> said_{};
  pid_t process_ = 0;
};

Process guarded(const std::function<void()>& life) {
  return Process([&] {
    Watchdog watchdog(1, &program_invocation_name, kStopped);
    life();
  });
}

TEST(Watchdog, NamesAndEndsAProcessThatIsStopped) {
  const Process process = guarded([] { raise(SIGSTOP); });
  const End end = process.end();
  EXPECT_EQ(end.status, SIGKILL);
  EXPECT_THAT(end.said, MatchesRegex("rank 7 on .* \\(process " + std::to_string(process.number()) +
                                     "\\) is stopped: it is ended\n"));
}

/// Of the processes whose parent that is, in whichever thread, that with the highest number; 0:
/// there is none.
pid_t last_child_of(pid_t parent) {
  pid_t last = 0;
  const std::string tasks = "/proc/" + std::to_string(parent) + "/task";
  for (const auto& task : std::filesystem::directory_iterator(tasks)) {
    std::ifstream children(task.path() / "children");
    for (pid_t child = 0; children >> child;) last = std::max(last, child);
  }
  return last;
}

std::string file_of(pid_t process, const std::string& name) {
  std::ifstream file("/proc/" + std::to_string(process) + "/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The watchdog of a process, once it watches.
pid_t watchdog_of(const Process& process) {
  pid_t child = 0;
  while ((child = last_child_of(process.number())) == 0 || file_of(child, "comm") != "watchdog\n") {
    pause(5);
  }
  return child;
}

TEST(Watchdog, EndsWithAProcessThatEndsOrIsKilled) {
  EXPECT_THAT(guarded([] {}).end().said, IsEmpty());
  const End killed = guarded([] { raise(SIGKILL); }).end();
  EXPECT_EQ(killed.status, SIGKILL) << "or the end of its stderr would not come";
  EXPECT_THAT(killed.said, MatchesRegex("rank 7 on .* died before it was watched\n"));
  const End terminated = guarded([] { raise(SIGTERM); }).end();
  EXPECT_EQ(terminated.status, SIGTERM);
  EXPECT_THAT(terminated.said, IsEmpty());
}

TEST(Watchdog, IsNoRankForWhoeverLooksForRanks) {
  const Process process = guarded([] { pause(60'000); });
  const pid_t child = watchdog_of(process);
  // Its variables and its words are gone a moment after it has its name.
  const auto shows = [&](const char* file, const char* text) {
    return file_of(child, file).find(text) != std::string::npos;
  };
  while (shows("environ", "PATH=") || shows("cmdline", "watchdog_test")) pause(5);
  EXPECT_THAT(file_of(process.number(), "environ"), HasSubstr("PATH="));
  EXPECT_THAT(file_of(process.number(), "cmdline"), HasSubstr("watchdog_test"));
}

using Body = std::function<void(Watchdog&, Communicator&)>;

/// Of a process whose threads are ranks, with a limit of 3 s.
End end_of_ranks(int ranks, const Body& body) {
  const Process process([&] {
    try {
      run_ranks(ranks, [&](Communicator& host) {
        // One by one, so that none has another's files; rank 0's is the last, and ends the process.
        std::optional<Watchdog> its;
        for (int rank = host.size() - 1; rank >= 0; --rank, host.barrier()) {
          if (rank == host.rank()) its.emplace(1, &program_invocation_name);
        }
        Watchdog& watchdog = *its;
        watchdog.watch(host, {3, /*stretches=*/false});
        body(watchdog, host);
        watchdog.part();
      });
    } catch (const std::exception& error) {
      print_line(error.what());
    }
  });
  return process.end();
}

TEST(Watchdog, IsQuietWhenAllGoesWell) {
  const End end = end_of_ranks(3, [](Watchdog& watchdog, Communicator& host) {
    if (!watchdog.watching()) print_line("not watched");
    watchdog.progress().cell("fine");
    for (int i = 0; i < 40; ++i, pause(100)) {
      watchdog.progress().enter();
      watchdog.progress().leave();
    }
    watchdog.progress().end_cell();
    pause(4000 + 500 * host.rank());  // ranks may end apart
  });
  EXPECT_EQ(end.status, 0);
  EXPECT_THAT(end.said, IsEmpty());
}

TEST(Watchdog, OneRankHasNobodyToWatch) {
  const End end = end_of_ranks(1, [](Watchdog& watchdog, Communicator&) {
    if (watchdog.watching()) print_line("watched");
    watchdog.progress().cell("alone");
    pause(4000);
  });
  EXPECT_EQ(end.status, 0);
  EXPECT_THAT(end.said, IsEmpty());
}

TEST(Watchdog, OneRankThatIsKilledIsNamed) {
  const End end = end_of_ranks(1, [](Watchdog&, Communicator&) { raise(SIGKILL); });
  EXPECT_EQ(end.status, SIGKILL);
  EXPECT_THAT(end.said, MatchesRegex("rank 7 on .* \\(process [0-9]+\\) died\n"));
}

TEST(Watchdog, NamesTheRankThatTheOthersWaitForAndEndsAll) {
  const End end = end_of_ranks(3, [](Watchdog& watchdog, Communicator& host) {
    watchdog.progress().cell("stuck");
    if (host.rank() != 2) watchdog.progress().enter();
    pause(60'000);
  });
  EXPECT_TRUE(WIFEXITED(end.status) && WEXITSTATUS(end.status) == 3) << end.status;
  EXPECT_THAT(end.said, AllOf(HasSubstr("rank 2 on "),
                              HasSubstr("hangs: no progress for 3 s in \"stuck\" (before its first "
                                        "operation), and the others wait; ending all ranks")));
}

TEST(Watchdog, NamesRankZeroWhereItsWatchdogIsGone) {
  const End end = end_of_ranks(2, [](Watchdog& watchdog, Communicator& host) {
    watchdog.progress().cell("cell");
    if (host.rank() == 0) kill(last_child_of(getpid()), SIGKILL);
    pause(60'000);
  });
  EXPECT_NE(end.status, 0);
  EXPECT_THAT(end.said, AllOf(HasSubstr("rank 0 on "), HasSubstr("no sign of life for 3 s")));
}

TEST(Watchdog, AStderrThatIsFullRaisesNothing) {
  const int before = dup(STDERR_FILENO);
  const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
  ASSERT_GE(full, 0);
  dup2(full, STDERR_FILENO);
  close(full);
  EXPECT_NO_THROW(say_last("lost"));
  std::clearerr(stderr);
  dup2(before, STDERR_FILENO);
  close(before);
}

}  // namespace
}  // namespace scalebench
