// SPDX-License-Identifier: Apache-2.0
// Real processes, all of them /bin/sh, that are stopped or not.
#include "bench/launch/launch_mark.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>

#include "bench/launch/process.hpp"

namespace scalebench {
namespace {

using testing::StartsWith;

/// The folder of a launch of a run that no other test has, at the same time.
std::string launch(const std::string& name, const std::string& run = "run") {
  return run + "-" + std::to_string(getpid()) + "/launches/" + name;
}
std::string run_of(const std::string& of_launch) {
  return of_launch.substr(0, of_launch.find('/'));
}

/// A process of that launch, which waits or computes until it is killed.
class Process {
 public:
  Process(const std::string& folder, const char* script = "exec sleep 300") : self_(fork()) {
    if (self_ != 0) return;
    const auto [name, value] = launch_mark(folder);
    setenv(name.c_str(), value.c_str(), 1);
    execl("/bin/sh", "sh", "-c", script, nullptr);
    _exit(127);
  }
  ~Process() {
    ::kill(self_, SIGKILL);
    ::waitpid(self_, nullptr, 0);
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t self() const { return self_; }
  /// Waits until it is stopped: the signal needs a moment, and the program too, to have its mark.
  void stop() const {
    wait_until_started();
    ::kill(self_, SIGSTOP);
    while (state_of(self_) != 'T') std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  void wait_until_started() const {
    while (executable() == own_executable()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  /// CLD_KILLED or CLD_EXITED, once it has: who is killed on a busy machine still needs its turn.
  int how_it_ended() const {
    siginfo_t how{};
    ::waitid(P_PID, static_cast<id_t>(self_), &how, WEXITED | WNOWAIT);
    return how.si_code;
  }

 private:
  static std::string link_of(const std::string& path) {
    std::string target(4096, '\0');
    const ssize_t size = ::readlink(path.c_str(), target.data(), target.size());
    target.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
    return target;
  }
  std::string executable() const { return link_of("/proc/" + std::to_string(self_) + "/exe"); }
  static std::string own_executable() { return link_of("/proc/self/exe"); }

  pid_t self_;
};

TEST(LaunchMark, HasTheMarksOfTheLaunchesThatItIsWithin) {
  const auto [name, outer] = launch_mark(launch("001-a"));
  setenv(name.c_str(), outer.c_str(), 1);
  const std::string inner = launch_mark(launch("001-a", "run-of-outer")).second;
  unsetenv(name.c_str());
  EXPECT_THAT(inner, StartsWith(outer));
  EXPECT_NE(inner, outer);
}

TEST(LaunchMark, EndsTheRest) {
  const Process rank(launch("001-a")), stranger(launch("001-a-2"));
  rank.stop();
  stranger.stop();
  // A zombie of this test has no environment any more, and is no process that is left.
  EXPECT_EQ(LaunchProcesses(launch("001-a")).end(std::chrono::seconds(0)), 1);
  EXPECT_EQ(rank.how_it_ended(), CLD_KILLED);
  EXPECT_EQ(state_of(stranger.self()), 'T');
}

TEST(LaunchMark, WaitsForWhatARankHoldsOnItsWayOut) {
  // Memory takes the longer to be freed the more there is; by then the rank shows no environment.
  const int memory = ::memfd_create("held", 0);
  const std::string block(1 << 20, 'x');
  for (int i = 0; i < 256; ++i) {
    ASSERT_EQ(::write(memory, block.data(), block.size()), static_cast<ssize_t>(block.size()));
  }
  const Process rank(launch("001-a"));
  ::close(memory);
  rank.wait_until_started();
  EXPECT_EQ(LaunchProcesses(launch("001-a")).end(std::chrono::seconds(0)), 1);
  EXPECT_EQ(state_of(rank.self()), 'Z');
  EXPECT_EQ(rank.how_it_ended(), CLD_KILLED);
}

TEST(LaunchMark, IsSeenWhileAProgramBecomesAnother) {
  // While the kernel puts the next program in a process' place it shows no environment: the longer,
  // the more variables there are.
  for (int i = 0; i < 3000; ++i) setenv(("VARIABLE_" + std::to_string(i)).c_str(), "", 1);
  const char* const becomes_itself = "export SELF='exec sh -c \"$SELF\"'; exec sh -c \"$SELF\"";
  for (int i = 0; i < 50; ++i) {
    const Process rank(launch("001-a"), becomes_itself);
    rank.wait_until_started();
    std::this_thread::sleep_for(std::chrono::microseconds(100) * i);
    ASSERT_EQ(LaunchProcesses(run_of(launch("001-a"))).end(std::chrono::seconds(0)), 1);
  }
}

TEST(LaunchMark, WaitsForTheLaunchesOfOneRun) {
  const Process ends_itself(launch("001-a"), "sleep 0.3; exit 0");
  ends_itself.wait_until_started();
  const Process stranger(launch("001-a", "another-run"));
  stranger.stop();
  EXPECT_EQ(LaunchProcesses("./" + run_of(launch("001-a"))).end(std::chrono::seconds(10)), 0);
  EXPECT_EQ(ends_itself.how_it_ended(), CLD_EXITED) << "it had the time for its own end";
  EXPECT_EQ(state_of(stranger.self()), 'T');
}

TEST(LaunchMark, EndsALaunchOfARunThatDoesNotEnd) {
  const Process rank(launch("001-a"));
  rank.stop();
  EXPECT_EQ(LaunchProcesses(run_of(launch("001-a"))).end(std::chrono::seconds(0)), 1);
  EXPECT_EQ(rank.how_it_ended(), CLD_KILLED);
}

}  // namespace
}  // namespace scalebench
