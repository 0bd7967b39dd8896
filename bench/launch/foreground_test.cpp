// SPDX-License-Identifier: Apache-2.0
// What a user hears of mpirun, whose part /bin/sh plays with what it said.
#include "bench/launch/foreground.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <string>
#include <thread>

#include "kernels/testing.hpp"

namespace scalebench::foreground_test {
namespace {

using testing::HasSubstr;
using Kind = MpirunEnd::Kind;

std::string page(const std::string& text) {
  const std::string rule(74, '-');
  return fmt::format("{0}\n{1}\n{0}\n", rule, text);
}

const std::string kJobEnded = page(
    "Primary job  terminated normally, but 1 process returned\n"
    "a non-zero exit code. Per user-direction, the job has been aborted.");
std::string code_told(int code) {
  return page(
      fmt::format("mpirun detected that one or more processes exited with non-zero status, thus "
                  "causing\nthe job to be terminated. The first process to do so was:\n\n"
                  "  Process name: [[1,1],1]\n  Exit code:    {}",
                  code));
}

struct Heard {
  MpirunEnd end;
  std::string said;
};
Heard heard(const std::string& said, const std::string& then,
            const std::vector<std::string>& words = {}) {
  const TemporaryFolder folder;
  folder.write("said", said);
  Heard all;
  const std::string script = fmt::format("cat '{}/said' >&2; {}", folder.path().string(), then);
  std::vector<std::string> command{"/bin/sh", "-c", script};
  command.insert(command.end(), words.begin(), words.end());
  all.end = run_in_foreground(command, {}, [&](std::string_view text) { all.said += text; });
  return all;
}

TEST(Foreground, LeavesRanksTheirWordsAndTheirCode) {
  const std::string refusal = "unknown option '--algoritm'\n";
  for (const int code : {2, 3, 4, 5, 130, 143}) {
    const Heard one = heard(refusal + kJobEnded + code_told(code), fmt::format("exit {}", code));
    EXPECT_EQ(one.said, refusal);
    EXPECT_EQ(one.end.why, "");
    EXPECT_EQ(one.end.kind, Kind::of_ranks);
    EXPECT_EQ(one.end.code, code);
  }
  EXPECT_EQ(heard("[1/1] ring\n", "exit 0").said, "[1/1] ring\n");
  EXPECT_EQ(heard("no end of line", "exit 0").said, "no end of line");
  EXPECT_EQ(heard("one\n" + std::string(1, '\0') + "two", "exit 0").said, "one\ntwo");
  EXPECT_EQ(heard("", "kill -INT $$").end.code, 130);
}

TEST(Foreground, ARegressionIsWhatARankSaysAloneAndWasAskedFor) {
  const std::vector<std::string> words{"--fail-on", "host"};
  const Heard found = heard("suspect: h1\n" + kJobEnded + code_told(1), "exit 1", words);
  EXPECT_EQ(found.end.kind, Kind::of_ranks);
  EXPECT_EQ(found.end.code, 1);
  const Heard by_a_library = heard(kJobEnded + code_told(1), "exit 1");
  EXPECT_EQ(by_a_library.end.kind, Kind::cut_off);
  EXPECT_THAT(by_a_library.end.why, HasSubstr("mpirun ended with code 1: Primary job"));
  const Heard failed =
      heard(page("It looks like MPI_INIT failed.") + kJobEnded + code_told(1), "exit 1", words);
  EXPECT_EQ(failed.end.kind, Kind::cut_off);
  EXPECT_EQ(failed.end.why, "mpirun ended with code 1: It looks like MPI_INIT failed.");
}

TEST(Foreground, SaysWhyNothingBegan) {
  const Heard slots = heard(page("There are not enough slots available for the 2\nslots that were "
                                 "requested by the application:\n\n  bench_allreduce\n\nEither "
                                 "request fewer slots, or make more."),
                            "exit 1");
  EXPECT_EQ(slots.said, "");
  EXPECT_EQ(slots.end.kind, Kind::not_begun);
  EXPECT_EQ(slots.end.why,
            "mpirun ended with code 1: There are not enough slots available for the 2 slots that "
            "were requested by the application: bench_allreduce");
  const Heard away = heard("ssh: no route\n" + page("No daemon could be started."), "exit 255");
  EXPECT_EQ(away.said, "ssh: no route\n");
  EXPECT_EQ(away.end.kind, Kind::not_begun);
  EXPECT_EQ(heard("", "exit 1").end.why, "mpirun ended with code 1");
  MpirunEnd missing = run_in_foreground({"/no/such/mpirun"}, {}, [](std::string_view) {});
  EXPECT_EQ(missing.kind, Kind::not_begun);
  EXPECT_EQ(missing.code, 127);
}

TEST(Foreground, SaysThatARankWasKilled) {
  const Heard rank = heard(
      "[1/9] ring\n" + kJobEnded + page("mpirun noticed that rank 0 exited on signal 9 (Killed)."),
      "exit 137");
  EXPECT_EQ(rank.said, "[1/9] ring\n");
  EXPECT_EQ(rank.end.kind, Kind::cut_off);
  EXPECT_EQ(rank.end.why,
            "mpirun ended with code 137: mpirun noticed that rank 0 exited on signal 9 (Killed).");
  const Heard quiet = heard(
      page("mpirun has exited due to process rank 1 with PID 0 on\nnode h1 exiting improperly."),
      "exit 1");
  EXPECT_EQ(quiet.end.kind, Kind::cut_off) << "it had begun";
  const Heard launcher = heard("", "kill -KILL $$");
  EXPECT_EQ(launcher.end.kind, Kind::cut_off);
  EXPECT_EQ(launcher.end.why, "mpirun was killed by signal 9");
}

TEST(Foreground, KeepsNothingBackThatIsNoPage) {
  const std::string table = std::string(40, '-') + "\na | b\n";
  EXPECT_EQ(heard(table, "exit 0").said, table);
}

TEST(Foreground, WhatSshPrintsOfAHostIsNoPage) {
  for (const std::size_t width : {60, 73, 78}) {
    const std::string rule = std::string(width, '-') + "\n";
    const std::string banner = rule + "Authorised use only\n" + rule + "of h1\n" + rule;
    const Heard killed =
        heard(banner + page("mpirun noticed that rank 0 exited on signal 9."), "exit 137");
    EXPECT_EQ(killed.said, banner);
    EXPECT_EQ(killed.end.kind, Kind::cut_off);
    EXPECT_THAT(killed.end.why, HasSubstr("exited on signal 9"));
  }
}

TEST(Foreground, DoesNotWaitForWhatHoldsTheStreamOpen) {
  const Heard one = heard("", "sleep 300 & echo $! >&2; exit 2");
  EXPECT_EQ(one.end.code, 2);
  const pid_t left = std::stoi(one.said);
  EXPECT_EQ(kill(left, SIGKILL), 0) << "it runs on";
}

/// Of a launcher that is told to end, and does.
MpirunEnd told_to_end(const std::string& how) {
  const std::string script = "trap '" + how + "' TERM; echo up >&2; while :; do sleep 0.05; done";
  std::thread user;
  const MpirunEnd end = run_in_foreground({"/bin/sh", "-c", script}, {}, [&](std::string_view) {
    if (!user.joinable()) user = std::thread([] { kill(getpid(), SIGTERM); });
  });
  user.join();
  return end;
}

TEST(Foreground, PassesASignalOn) {
  EXPECT_EQ(told_to_end("exit 4").code, 4) << "as the ranks end";
  const MpirunEnd end = told_to_end("exit 1");
  EXPECT_EQ(end.code, 143) << "no regression, and no failure";
  EXPECT_EQ(end.kind, Kind::of_ranks);
  EXPECT_EQ(end.why, "");
}

}  // namespace
}  // namespace scalebench::foreground_test
