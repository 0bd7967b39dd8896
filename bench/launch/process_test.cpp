// SPDX-License-Identifier: Apache-2.0
// Real processes, all of them /bin/sh: how they end, what is said about it, that none stays.
#include "bench/launch/process.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "bench/launch/launch_mark.hpp"
#include "kernels/read_number.hpp"
#include "kernels/testing.hpp"

namespace scalebench {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

/// False once the process has ended, also while nobody has taken note of it.
bool is_running(const std::string& pid) {
  const char state = state_of(read_number<pid_t>(pid).value_or(0));
  return state != '?' && state != 'Z';
}

class LaunchTest : public testing::Test {
 protected:
  /// With all that is known of its end.
  LaunchEnd run_whole(const std::vector<std::string>& command, double deadline_seconds = 60) {
    return run_launch(command, environment_, folder_.path(), deadline_seconds, stop_);
  }
  /// Without what the kernel ended on this host meanwhile: a test beside this one lets it.
  LaunchEnd run(const std::vector<std::string>& command, double deadline_seconds = 60) {
    LaunchEnd end = run_whole(command, deadline_seconds);
    end.why = end.why.substr(0, end.why.find("; memory was short"));
    return end;
  }
  LaunchEnd run_script(const std::string& script, double deadline_seconds = 60) {
    return run({"/bin/sh", "-c", script}, deadline_seconds);
  }
  /// Waits until the script has written the file: it is then in the middle of its work.
  std::string wait_for(const char* file) {
    for (int i = 0; i < 6000 && folder_.read(file).empty(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    const std::string text = folder_.read(file);
    return text.substr(0, text.find('\n'));
  }
  /// Tells the launch to stop once the script has written the file.
  std::thread stop_after(const char* file) {
    return std::thread([this, file] {
      wait_for(file);
      stop_ = true;
    });
  }
  std::string path(const char* file) const { return (folder_ / file).string(); }

  TemporaryFolder folder_;
  Variables environment_;
  std::atomic<bool> stop_ = false;
};

TEST_F(LaunchTest, ThatHasNoSecondLogClosesTheFirst) {
  std::filesystem::create_directory(folder_ / "stderr.log");
  EXPECT_THROW(run_script("true"), UsageError);
  for (const auto& open : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;  // of the one that lists them
    EXPECT_NE(std::filesystem::read_symlink(open, gone), folder_ / "stdout.log");
  }
}

TEST_F(LaunchTest, KeepsOutputApartAndTheCommandBesideIt) {
  environment_ = {{"OMP_NUM_THREADS", "3"}};
  const LaunchEnd end = run_script("echo threads $OMP_NUM_THREADS; echo progress >&2");
  EXPECT_TRUE(end.ok);
  EXPECT_FALSE(end.interrupted);
  EXPECT_EQ(end.why, "");
  EXPECT_GT(end.seconds, 0);
  EXPECT_EQ(folder_.read("stdout.log"), "threads 3\n");
  EXPECT_EQ(folder_.read("stderr.log"), "progress\n");
  EXPECT_EQ(folder_.read("command.txt"),
            "/bin/sh -c 'echo threads $OMP_NUM_THREADS; echo progress >&2'\n");
  EXPECT_EQ(std::getenv("OMP_NUM_THREADS"), nullptr) << "only the child's environment changes";
}

TEST_F(LaunchTest, GivesNoInput) {
  EXPECT_TRUE(run({"cat"}).ok) << "a terminal would be waited for";
}

TEST_F(LaunchTest, SaysTheExitCodeAndTheLastLine) {
  const LaunchEnd end = run_script("echo first >&2; echo last >&2; echo '-----' >&2; exit 7");
  EXPECT_FALSE(end.ok);
  EXPECT_EQ(end.why, "exit code 7: last");
  EXPECT_EQ(run_script("exit 7").why, "exit code 7");
}

TEST_F(LaunchTest, StartsOnceMoreWhatLostItsFolder) {
  const auto fails_before = [&](int time) {
    folder_.write("times", "");
    return run_script(
        fmt::format("echo once >>'{0}'; [ $(wc -l <'{0}') -lt {1} ] || exit 0; "
                    "echo 'A call to mkdir was unable to create the desired directory:' >&2; "
                    "echo '  Error:     File exists' >&2; exit 1",
                    path("times"), time));
  };
  EXPECT_TRUE(fails_before(3).ok);
  EXPECT_FALSE(fails_before(5).ok) << "not for ever";
  EXPECT_EQ(folder_.read("times"), "once\nonce\nonce\n");
}

TEST_F(LaunchTest, KnowsHowItEndedAlsoWhereChildrenWereIgnored) {
  // As a supervisor that ignores the ends of its own leaves it to what it starts.
  std::signal(SIGCHLD, SIG_IGN);
  const LaunchEnd failed = run_script("exit 7");
  std::signal(SIGCHLD, SIG_IGN);
  const CommandAnswer answer = ask({"/bin/false"}, 60);
  std::signal(SIGCHLD, SIG_DFL);
  EXPECT_FALSE(failed.ok);
  EXPECT_EQ(failed.why, "exit code 7");
  EXPECT_FALSE(answer.answered);
}

TEST_F(LaunchTest, TellsTheSignalWhereTheLauncherDoesNot) {
  EXPECT_EQ(run_script("echo aborted >&2; exit 137").why, "exit code 137 (SIGKILL): aborted");
  EXPECT_EQ(run_script("exit 255").why, "exit code 255");
}

TEST(Said, IsOfARankElseOfASignalElseOfAProgramElseOfTheLauncher) {
  const std::string rule(76, '-'), short_rule(60, '-');
  const std::string launcher = rule + "\nA process exited:\n\n   Exit code:    7\n" + rule + "\n";
  const std::string signal = "process rank 0 exited on signal 9 (Killed).\n";
  EXPECT_EQ(said_in("noise\nrank 1 host: no memory\n" + signal), "rank 1 host: no memory");
  EXPECT_EQ(said_in(rule + "\n" + signal + rule + "\nbye\n") + "\n", signal);
  EXPECT_EQ(
      said_in("a warning\n" + rule + "\nprocess rank 3 on node h4 exited on\nsignal 9 (Killed).\n"),
      "process rank 3 on node h4 exited on signal 9 (Killed).");
  EXPECT_EQ(said_in("out of luck\n-----\n" + launcher), "out of luck");
  EXPECT_EQ(said_in(launcher + "noise\nout of luck\n\n"), "out of luck");
  EXPECT_EQ(said_in(launcher), "A process exited:");
  EXPECT_EQ(said_in(short_rule + "\nA process was unable to connect\n" + short_rule + "\n"),
            "A process was unable to connect");
  EXPECT_EQ(said_in(std::string("\0rank 1 h2: no memory\n", 22)), "rank 1 h2: no memory");
  EXPECT_EQ(said_in("ssh: no route\r\n"), "ssh: no route");
  EXPECT_EQ(said_in("\n=====\n"), "");
}

TEST_F(LaunchTest, NamesTheSignal) {
  const LaunchEnd end = run_script("kill -SEGV $$");
  EXPECT_FALSE(end.ok);
  EXPECT_EQ(end.why, "killed by signal Segmentation fault");
}

TEST_F(LaunchTest, SaysThatTheProgramIsMissing) {
  const LaunchEnd end = run({"/no/such/mpirun", "-np", "2"});
  EXPECT_FALSE(end.ok);
  EXPECT_EQ(end.why, "exit code 127: /no/such/mpirun: No such file or directory");
}

TEST_F(LaunchTest, LeavesNoProcessBehindThatTheProgramForgot) {
  const LaunchEnd end = run_script("sleep 300 & echo $! >" + path("pid"));
  EXPECT_TRUE(end.ok);
  const std::string forgotten = wait_for("pid");
  ASSERT_NE(forgotten, "");
  for (int i = 0; i < 500 && is_running(forgotten); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_FALSE(is_running(forgotten));
}

TEST_F(LaunchTest, EndsRanksWhoseLauncherWasKilledBeforeTheNextOnesBegin) {
  // In a session of its own, as mpirun's ranks are in groups of their own.
  const LaunchEnd end =
      run_script("setsid sh -c 'echo $$ >" + path("pid") + "; exec sleep 300' & while [ ! -s " +
                 path("pid") + " ]; do sleep 0.01; done; kill -KILL $$");
  EXPECT_FALSE(end.ok);
  const std::string rank = wait_for("pid");
  ASSERT_NE(rank, "");
  EXPECT_FALSE(is_running(rank));
}

TEST_F(LaunchTest, EndsAtTheDeadline) {
  const LaunchEnd end = run_script("echo waiting for rank 1 >&2; exec sleep 300", 5);
  EXPECT_FALSE(end.ok);
  EXPECT_FALSE(end.interrupted);
  EXPECT_THAT(end.why, AllOf(StartsWith("did not end within"), HasSubstr(": waiting for rank 1")));
}

// Takes the ten seconds of grace.
TEST_F(LaunchTest, KillsWhatIgnoresThePoliteSignal) {
  std::thread user = stop_after("pid");
  const LaunchEnd end =
      run_script("trap '' TERM; echo $$ >" + path("pid") + "; sleep 300; sleep 300");
  user.join();
  EXPECT_FALSE(end.ok);
  EXPECT_EQ(end.why, "interrupted");
  EXPECT_GE(end.seconds, 10) << "it had its grace";
  EXPECT_FALSE(is_running(wait_for("pid")));
}

/// Traces a process and never looks at it again. The kernel tells its parent of its end only once
/// that has been looked at: for the parent it is one that cannot be killed.
class Tracer {
 public:
  explicit Tracer(pid_t process) : self_(fork()) {
    if (self_ != 0) return;
    if (ptrace(PTRACE_SEIZE, process, 0, 0) != 0) _exit(errno);
    while (true) pause();
  }
  ~Tracer() {
    ::kill(self_, SIGKILL);
    ::waitpid(self_, nullptr, 0);
  }
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;

  /// Why it cannot trace here; empty once it does.
  std::string waits_for(pid_t process) const {
    const std::string mine = fmt::format("TracerPid:\t{}\n", self_);
    while (true) {
      std::ifstream file(fmt::format("/proc/{}/status", process));
      const std::string text{std::istreambuf_iterator<char>(file), {}};
      if (text.find(mine) != std::string::npos) return {};
      siginfo_t ended{};
      ::waitid(P_PID, static_cast<id_t>(self_), &ended, WEXITED | WNOHANG | WNOWAIT);
      if (ended.si_pid == self_) return std::strerror(ended.si_status);
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }

 private:
  pid_t self_;
};

// Takes both graces of ten seconds.
TEST_F(LaunchTest, DoesNotWaitForEverForWhatCannotBeKilled) {
  LaunchEnd end;
  std::thread launch([&] {
    end = run_script("trap '' TERM; echo $$ >" + path("pid") + "; sleep 300; sleep 300");
  });
  const pid_t process = read_number<pid_t>(wait_for("pid")).value_or(0);
  std::string why;
  {
    const Tracer tracer(process);
    why = tracer.waits_for(process);
    stop_ = true;
    launch.join();
  }
  ASSERT_GT(process, 0) << "it has not begun";
  if (!why.empty()) GTEST_SKIP() << "no process may be traced here: " << why;
  EXPECT_FALSE(end.ok);
  EXPECT_EQ(end.why,
            fmt::format("interrupted; process {} was killed and does not end (state Z)", process));
  EXPECT_EQ(::waitpid(process, nullptr, 0), process) << "once it can, it ends";
}

/// A control group of its own, of either version, for one controller; gone with the object.
class ControlGroup {
 public:
  explicit ControlGroup(const std::string& controller, const std::string& needed) {
    namespace fs = std::filesystem;
    for (const fs::path& parent :
         {fs::path("/sys/fs/cgroup") / controller, fs::path("/sys/fs/cgroup")}) {
      const fs::path group = parent / fmt::format("scalebench-test-{}", getpid());
      std::error_code refused;
      if (!fs::create_directory(group, refused)) continue;
      path_ = group;
      if (fs::exists(group / needed)) return;
      fs::remove(group);
      path_.clear();
    }
  }
  ~ControlGroup() {
    // Its processes may still be on their way out.
    for (int i = 0; i < 500 && !path_.empty() && ::rmdir(path_.c_str()) != 0; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
  ControlGroup(const ControlGroup&) = delete;
  ControlGroup& operator=(const ControlGroup&) = delete;

  bool made() const { return !path_.empty(); }
  std::string file(const char* name) const { return (path_ / name).string(); }
  /// Whether that could be written.
  bool set(const char* name, const std::string& text) const {
    std::ofstream stream(path_ / name);
    return static_cast<bool>(stream << text << std::flush);
  }

 private:
  std::filesystem::path path_;
};

// A real process in state D: only version 1 has a freezer that no signal gets through.
TEST_F(LaunchTest, DoesNotWaitForEverForAProcessInStateD) {
  const ControlGroup freezer("freezer", "freezer.state");
  if (!freezer.made()) GTEST_SKIP() << "no control group of version 1 can be made here (freezer)";
  std::thread freeze([&] {
    wait_for("pid");
    freezer.set("freezer.state", "FROZEN");
    stop_ = true;
  });
  const LaunchEnd end = run_script("trap '' TERM; echo $$ >" + freezer.file("cgroup.procs") +
                                   "; echo $$ >" + path("pid") + "; sleep 300; sleep 300");
  freeze.join();
  const std::string process = wait_for("pid");
  const bool still = is_running(process);
  freezer.set("freezer.state", "THAWED");
  ::waitpid(read_number<pid_t>(process).value_or(-1), nullptr, 0);
  EXPECT_TRUE(still);
  EXPECT_FALSE(end.ok);
  EXPECT_THAT(end.why,
              HasSubstr(fmt::format("process {} was killed and does not end (state D)", process)));
}

TEST_F(LaunchTest, SaysThatTheKernelEndedItToGetMemory) {
  const ControlGroup memory("memory", "cgroup.procs");
  const std::string most = std::to_string(32 << 20U);
  const bool limited =
      memory.made() && (memory.set("memory.limit_in_bytes", most) ||
                        (memory.set("memory.max", most) && memory.set("memory.swap.max", "0")));
  memory.set("memory.memsw.limit_in_bytes", most);  // of version 1, where it counts swap
  if (!limited) GTEST_SKIP() << "no control group with a limit of memory can be made here";
  const auto whole = [&](const std::string& script) {
    return run_whole({"/bin/sh", "-c", script});
  };
  const LaunchEnd end =
      whole("echo $$ >" + memory.file("cgroup.procs") + "; tail /dev/zero; exit $?");
  EXPECT_FALSE(end.ok);
  EXPECT_THAT(end.why, AllOf(StartsWith("exit code 137"),
                             HasSubstr("; memory was short: meanwhile the kernel ended "),
                             EndsWith(" process(es) on this host")));
  // Another kill is another matter; what the kernel ends elsewhere at that moment is told, too.
  bool is_told_apart = false;
  for (int attempt = 0; attempt < 10 && !is_told_apart; ++attempt) {
    is_told_apart = whole("kill -KILL $$").why.find("memory") == std::string::npos;
  }
  EXPECT_TRUE(is_told_apart);
}

TEST_F(LaunchTest, EndsEarlyAndOrderlyWhenToldToStop) {
  std::thread user = stop_after("started");
  const LaunchEnd end = run_script("trap 'echo tidy; exit 0' TERM; echo yes >" + path("started") +
                                   "; while :; do sleep 0.05; done");
  user.join();
  EXPECT_TRUE(end.interrupted);
  EXPECT_FALSE(end.ok) << "half a measurement is none, whatever the exit code";
  EXPECT_EQ(end.why, "interrupted");
  EXPECT_EQ(folder_.read("stdout.log"), "tidy\n");
}

TEST_F(LaunchTest, TheShellLineRoundTripsThroughAShell) {
  const std::vector<std::string> words{"plain",  "two words", "it's",      "$HOME `id` \"x\"",
                                       "",       "a;b|c&d",   "new\nline", "back\\slash",
                                       "*?[a]~", "-np",       "ä=ö",       "'"};
  std::vector<std::string> command{"printf", "<%s>"};
  command.insert(command.end(), words.begin(), words.end());
  ASSERT_TRUE(run_script(shell_line(command)).ok);
  std::string expected;
  for (const std::string& word : words) expected += "<" + word + ">";
  EXPECT_EQ(folder_.read("stdout.log"), expected);
}

TEST(ShellLine, QuotesOnlyWhatNeedsIt) {
  EXPECT_EQ(shell_line({"mpirun", "-np", "2", "/a/b_c-1.0", "x=1,2:3+4@5%"}),
            "mpirun -np 2 /a/b_c-1.0 x=1,2:3+4@5%");
  EXPECT_EQ(shell_line({"a b", "", "don't"}), R"('a b' '' 'don'\''t')");
}

}  // namespace
}  // namespace scalebench
