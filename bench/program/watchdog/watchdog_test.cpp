// SPDX-License-Identifier: Apache-2.0
// Threads as ranks, each with a watchdog of its own. What must happen is waited for; how long it
// takes is not judged.
#include "bench/program/watchdog/watchdog.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "bench/program/watchdog/termination.hpp"
#include "collectives/transport/thread_ranks_test.hpp"

namespace scalebench {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr double kLimit = 5;    // seconds: a thread may long wait for its turn on a busy core
constexpr double kPatient = 6;  // to tell what it has to before it is blamed

void pause(int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

/// What all ranks' watchdogs did.
class Witness {
 public:
  WatchdogOptions options(double limit_seconds, std::function<bool()> lives = {},
                          double culprit_seconds = 0.7) {
    return {.limit_seconds = limit_seconds,
            .lives = std::move(lives),
            .end =
                [this] {
                  const std::lock_guard lock(mutex_);
                  ++ends_;
                },
            .say =
                [this](const std::string& text) {
                  const std::lock_guard lock(mutex_);
                  said_.push_back(text);
                },
            .note =
                [this](const std::string& text) {
                  const std::lock_guard lock(mutex_);
                  notes_.push_back(text);
                },
            .culprit_seconds = culprit_seconds};
  }
  /// Returns when so many ranks were told to end.
  void wait_for_ends(int count) {
    wait_for("ends", [&] { return ends_ >= count; });
  }
  void wait_for_words() {
    wait_for("words", [&] { return !said_.empty(); });
  }
  int ends() {
    const std::lock_guard lock(mutex_);
    return ends_;
  }
  const std::vector<std::string>& said() const { return said_; }
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  /// A watchdog that sleeps fails the test.
  void wait_for(const char* what, const std::function<bool()>& is_so) {
    for (int i = 0; i < 6000; ++i, pause(10)) {
      const std::lock_guard lock(mutex_);
      if (is_so()) return;
    }
    ADD_FAILURE() << "not within a minute: " << what;
  }

  std::mutex mutex_;
  int ends_ = 0;
  std::vector<std::string> said_;
  std::vector<std::string> notes_;
};

void operate(Watchdog& watchdog, int times) {
  for (int i = 0; i < times; ++i) {
    watchdog.enter();
    watchdog.leave();
  }
}

TEST(Watchdog, IsQuietWhenAllGoesWell) {
  Witness witness;
  run_ranks(3, [&](Communicator& host) {
    Watchdog watchdog(host, witness.options(kLimit, [] { return false; }));
    EXPECT_TRUE(watchdog.watching());
    for (int cell = 0; cell < 3; ++cell) {
      watchdog.cell("fine");
      for (int i = 0; i < 10; ++i, pause(10)) operate(watchdog, 100);
      watchdog.end_cell();
    }
    // Between cells all may wait for a slow file; and ranks may end apart.
    pause(host.rank() == 1 ? 7500 : 7000);
  });
  EXPECT_EQ(witness.ends(), 0);
  EXPECT_TRUE(witness.said().empty()) << witness.said()[0];
}

TEST(Watchdog, OneRankHasNobodyToWatch) {
  Witness witness;
  run_ranks(1, [&](Communicator& host) {
    Watchdog watchdog(host, witness.options(0.1));
    EXPECT_FALSE(watchdog.watching());
    watchdog.cell("alone");
    operate(watchdog, 1);
    watchdog.simulate(Watchdog::Fault::die);
  });
  EXPECT_EQ(witness.ends(), 0);
}

TEST(Watchdog, NamesTheRankThatTheOthersWaitFor) {
  for (const int culprit : {0, 2}) {
    Witness witness;
    run_ranks(
        3,
        [&](Communicator& host) {
          Watchdog watchdog(host, witness.options(kLimit));
          watchdog.cell("first");
          operate(watchdog, 5);
          watchdog.end_cell();
          watchdog.cell("allreduce ring float 1 MiB");
          operate(watchdog, 16);
          if (host.rank() != culprit) watchdog.enter();
          witness.wait_for_ends(3);
        },
        SendMode::rendezvous, 1);
    ASSERT_EQ(witness.said().size(), 1U);
    EXPECT_THAT(witness.said()[0],
                AllOf(StartsWith("rank " + std::to_string(culprit) + " on "),
                      HasSubstr("hangs: no progress for 5 s in \"allreduce ring float 1 MiB\" "
                                "(after operation 16 of the cell)")));
  }
}

TEST(Watchdog, SaysWhenAllHangTogether) {
  Witness witness;
  run_ranks(2, [&](Communicator& host) {
    Watchdog watchdog(host, witness.options(kLimit));
    watchdog.cell("stuck");
    operate(watchdog, 2);
    watchdog.enter();
    witness.wait_for_ends(2);
  });
  ASSERT_EQ(witness.said().size(), 1U);
  EXPECT_THAT(witness.said()[0], AllOf(StartsWith("all ranks hang"),
                                       HasSubstr("in \"stuck\" (operation 3 of the cell)")));
}

/// Rank `culprit` of 3 meets its fault in a cell that all have entered.
std::vector<std::string> said_after(Watchdog::Fault fault, int culprit) {
  Witness witness;
  run_ranks(3, [&](Communicator& host) {
    Watchdog watchdog(host, witness.options(kLimit));
    watchdog.cell("cell");
    // Until the others have heard of it, and on the move up to the fault.
    for (int i = 0; i < 10; ++i, pause(100)) operate(watchdog, 1);
    if (host.rank() == culprit) watchdog.simulate(fault);
    witness.wait_for_ends(2);
  });
  EXPECT_EQ(witness.ends(), 2) << "who is dead ends nobody";
  return witness.said();
}

TEST(Watchdog, NamesTheRankThatDied) {
  for (const int culprit : {0, 1}) {
    const auto said = said_after(Watchdog::Fault::die, culprit);
    ASSERT_EQ(said.size(), 1U);
    EXPECT_THAT(said[0], AllOf(StartsWith("rank " + std::to_string(culprit) + " on "),
                               HasSubstr(" died in \"cell\" (after operation ")));
  }
}

TEST(Watchdog, NamesTheRankThatWasStopped) {
  for (const int culprit : {0, 1}) {
    const auto said = said_after(Watchdog::Fault::freeze, culprit);
    ASSERT_EQ(said.size(), 1U);
    EXPECT_THAT(said[0], AllOf(StartsWith("rank " + std::to_string(culprit) + " on "),
                               HasSubstr("no sign of life for 5 s in \"cell\"")));
  }
}

TEST(Watchdog, NotesSilenceLongBeforeItEndsAnything) {
  Witness witness;
  run_ranks(3, [&](Communicator& host) {
    Watchdog watchdog(host, witness.options(8));
    watchdog.cell("cell");
    operate(watchdog, 3);
    pause(1000);
    if (host.rank() == 1) watchdog.simulate(Watchdog::Fault::freeze);
    witness.wait_for_ends(2);
  });
  ASSERT_FALSE(witness.notes().empty());
  EXPECT_THAT(witness.notes()[0],
              AllOf(StartsWith("rank 1 on "),
                    HasSubstr(": no sign of life for 2.5 s in \"cell\" (after operation 3 of")));
  EXPECT_EQ(witness.said().size(), 1U);
}

TEST(Watchdog, WaitsLongerForWhatTakesLong) {
  Witness witness;
  run_ranks(2, [&](Communicator& host) {
    Watchdog watchdog(host, witness.options(kLimit));
    watchdog.cell("slow");
    watchdog.expect(10);
    watchdog.enter();
    pause(7000);
    watchdog.leave();
  });
  EXPECT_EQ(witness.ends(), 0);
}

TEST(Watchdog, LeavesAFailureToTheRankThatReportsIt) {
  Witness witness;
  std::atomic<bool> reported = false;
  EXPECT_THROW(run_ranks(3,
                         [&](Communicator& host) {
                           Watchdog watchdog(host, witness.options(30, {}, kPatient));
                           watchdog.cell("cell");
                           host.barrier();
                           if (host.rank() == 1) {
                             watchdog.give_up();
                             reported = true;
                             throw std::runtime_error("bad luck");
                           }
                           while (!reported) pause(10);
                           // Now the launcher kills the others one by one.
                           if (host.rank() == 2) watchdog.simulate(Watchdog::Fault::die);
                           pause(1500);
                         }),
               std::runtime_error);
  EXPECT_TRUE(witness.said().empty()) << witness.said()[0];
}

/// Rank 2 of 4 dies in a cell, and what `others` do on the other ranks is known before that.
std::vector<std::string> said_when_death_is_told_late(
    const std::function<void(Watchdog&, int rank)>& others) {
  Witness witness;
  std::atomic<int> acted = 0;
  run_ranks(4, [&](Communicator& host) {
    Watchdog watchdog(host, witness.options(30, {}, kPatient));
    watchdog.cell("cell");
    operate(watchdog, 1);
    host.barrier();
    if (host.rank() == 2) {
      while (acted < 3) pause(10);
      pause(100);
      watchdog.simulate(Watchdog::Fault::die);
    } else {
      // Rank 0 first: what is said to it then is not said to one that suspects nothing.
      while (acted < (host.rank() == 0 ? 0 : 1)) pause(10);
      ++acted;
      others(watchdog, host.rank());
    }
    witness.wait_for_words();
  });
  return witness.said();
}

TEST(Watchdog, NamesTheDeathBehindAFailureThatIsKnownEarlier) {
  for (const int failing : {0, 1}) {
    const auto said = said_when_death_is_told_late([&](Watchdog& watchdog, int rank) {
      if (rank == failing) watchdog.give_up();
    });
    ASSERT_EQ(said.size(), 1U) << "rank " << failing << " fails";
    EXPECT_THAT(said[0], AllOf(StartsWith("rank 2 on "), Not(HasSubstr("\n"))));
  }
}

TEST(Watchdog, NamesTheDeathThatMadeTheLauncherEndAllRanks) {
  const auto said = said_when_death_is_told_late(
      [](Watchdog& watchdog, int) { watchdog.simulate(Watchdog::Fault::terminate); });
  ASSERT_EQ(said.size(), 1U);
  EXPECT_THAT(said[0], AllOf(StartsWith("rank 2 on "), Not(HasSubstr("\n"))));
}

TEST(Watchdog, NamesAllThatDiedWhenNobodyKnowsWhoWasFirst) {
  // As when MPI itself ends rank 3 because rank 2 has died, and that is heard of first.
  const auto said = said_when_death_is_told_late([](Watchdog& watchdog, int rank) {
    watchdog.simulate(rank == 3 ? Watchdog::Fault::die : Watchdog::Fault::terminate);
  });
  ASSERT_EQ(said.size(), 1U);
  EXPECT_THAT(said[0], AllOf(HasSubstr("rank 2 on "), HasSubstr("rank 3 on "),
                             Not(HasSubstr("rank 0 on ")), Not(HasSubstr("rank 1 on "))));
}

TEST(Watchdog, NamesNobodyWhenTheLauncherEndsAllRanks) {
  Witness witness;
  run_ranks(3, [&](Communicator& host) {
    Watchdog watchdog(host, witness.options(30));
    watchdog.cell("cell");
    operate(watchdog, 1);
    // One after another, as signals come.
    pause(100 * host.rank());
    watchdog.simulate(Watchdog::Fault::terminate);
    pause(2000);
  });
  EXPECT_TRUE(witness.said().empty()) << witness.said()[0];
}

TEST(Watchdog, NamesTheRankThatWasStoppedBetweenCells) {
  Witness witness;
  run_ranks(3, [&](Communicator& host) {
    Watchdog watchdog(host, witness.options(kLimit));
    watchdog.cell("cell");
    operate(watchdog, 1);
    watchdog.end_cell();
    pause(1000);
    if (host.rank() == 1) watchdog.simulate(Watchdog::Fault::freeze);
    witness.wait_for_ends(2);
  });
  ASSERT_EQ(witness.said().size(), 1U);
  EXPECT_THAT(witness.said()[0],
              AllOf(StartsWith("rank 1 on "), HasSubstr("no sign of life for 5 s after \"cell\"")));
}

TEST(Watchdog, NamesTheRankThatAnotherIsAheadOfInASpan) {
  Witness witness;
  run_ranks(3, [&](Communicator& host) {
    Watchdog watchdog(host, witness.options(kLimit));
    watchdog.span("opening transport nccl");
    if (host.rank() != 2) watchdog.span("first message");
    witness.wait_for_ends(3);
  });
  ASSERT_EQ(witness.said().size(), 1U);
  EXPECT_THAT(
      witness.said()[0],
      AllOf(StartsWith("rank 2 on "),
            HasSubstr("no progress for 5 s in \"opening transport nccl\", and the others")));
}

/// Two ranks, of which each does as told for as long as it is watched, and shows signs of life or
/// not; a limit of 5 s, and 7.5 s without a sign of life where those count.
struct Doing {
  std::function<void(Watchdog&)> begin;
  bool lives;
};
void run_two(Witness& witness, const Doing& first, const Doing& second,
             const std::function<void()>& meanwhile, double ceiling = 144) {
  run_ranks(2, [&](Communicator& host) {
    const Doing& mine = host.rank() == 0 ? first : second;
    WatchdogOptions options = witness.options(kLimit, [&] { return mine.lives; });
    options.patience = 1.5;
    options.ceiling = ceiling;
    Watchdog watchdog(host, options);
    mine.begin(watchdog);
    meanwhile();
    host.barrier();
  });
}

void in_a_cell(Watchdog& watchdog) { watchdog.cell("cell"); }
void at_work(Watchdog& watchdog) { watchdog.work("building the model"); }
void between_cells(Watchdog& watchdog) {
  watchdog.cell("cell");
  watchdog.end_cell();
}

TEST(Watchdog, ARankThatComputesOnItsOwnTakesItsTime) {
  Witness witness;
  run_two(witness, {in_a_cell, true}, {at_work, true}, [] { pause(10'000); });
  EXPECT_EQ(witness.ends(), 0);
}

TEST(Watchdog, NamesTheRankWhoseWorkStandsStill) {
  Witness witness;
  run_two(witness, {in_a_cell, true}, {at_work, false}, [&] { witness.wait_for_ends(2); });
  ASSERT_EQ(witness.said().size(), 1U);
  EXPECT_THAT(witness.said()[0],
              AllOf(StartsWith("rank 1 on "), HasSubstr("has not computed, read or written"),
                    HasSubstr("in \"building the model\"; ending all ranks")));
}

TEST(Watchdog, NamesTheRankThatStandsStillBetweenCells) {
  Witness witness;
  // As when rank 0 writes rows to a server that is gone, and the other waits busily for it.
  run_two(witness, {between_cells, false}, {between_cells, true},
          [&] { witness.wait_for_ends(2); });
  ASSERT_EQ(witness.said().size(), 1U);
  EXPECT_THAT(witness.said()[0],
              AllOf(StartsWith("rank 0 on "), HasSubstr("has not computed, read or written"),
                    HasSubstr("after \"cell\"; ending all ranks")));
}

TEST(Watchdog, NamesTheRankWhoseLibraryNeverReturnsFromACallInsideAWork) {
  Witness witness;
  run_ranks(2, [&](Communicator& host) {
    CallMarks calls;
    WatchdogOptions options = witness.options(kLimit, [first = host.rank() == 0] { return first; });
    options.calls = &calls;
    Watchdog watchdog(host, options);
    watchdog.work("building the model");
    for (int i = 0; i < 100 * (1 + host.rank()); ++i) const CallMarks::Call call(&calls);
    const CallMarks::Call call(&calls);
    witness.wait_for_ends(2);
  });
  ASSERT_EQ(witness.said().size(), 1U);
  EXPECT_THAT(
      witness.said()[0],
      AllOf(StartsWith("rank 1 on "),
            HasSubstr("hangs: no progress for 5 s in \"building the model\", and no work")));
}

TEST(Watchdog, ARankThatWaitsForOneThatWorksTakesItsTime) {
  Witness witness;
  run_ranks(2, [&](Communicator& host) {
    CallMarks mine;
    WatchdogOptions options = witness.options(kLimit, [] { return true; });
    options.calls = &mine;
    Watchdog watchdog(host, options);
    watchdog.work("building the model");
    std::optional<CallMarks::Call> call;
    if (host.rank() == 0) call.emplace(&mine);
    pause(10'000);
    host.barrier();
  });
  EXPECT_EQ(witness.ends(), 0);
}

TEST(Watchdog, NamesTheRankThatIsBusyForEver) {
  Witness witness;
  const auto further = [](Watchdog& watchdog) {
    watchdog.work("building the model");
    watchdog.work("first step");
  };
  run_two(
      witness, {further, true}, {at_work, true}, [&] { witness.wait_for_ends(2); }, 2);
  ASSERT_EQ(witness.said().size(), 1U);
  EXPECT_THAT(
      witness.said()[0],
      AllOf(StartsWith("rank 1 on "),
            HasSubstr("hangs: no progress for 10 s in \"building the model\", and the others")));
}

TEST(Watchdog, TellsAtOnceWhatARankBegins) {
  Witness witness;
  run_ranks(2, [&](Communicator& host) {
    Watchdog watchdog(host, witness.options(30));
    if (host.rank() == 1) {
      watchdog.cell("its last");
      watchdog.simulate(Watchdog::Fault::die);
    }
    witness.wait_for_words();
  });
  ASSERT_EQ(witness.said().size(), 1U);
  EXPECT_THAT(witness.said()[0], AllOf(StartsWith("rank 1 on "),
                                       HasSubstr(" died in \"its last\" (before its first")));
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
