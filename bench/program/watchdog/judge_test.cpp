// SPDX-License-Identifier: Apache-2.0
#include "bench/program/watchdog/judge.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <vector>

namespace scalebench {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

WatchedRank at(int rank, std::uint64_t cells, std::uint64_t entered, std::uint64_t left) {
  RankProgress progress{.cells = cells, .moves = entered + left};
  progress.stage = Stage::cell;
  return {rank, "node", false, 0, 0, progress};
}

TEST(WatchdogVerdict, BlamesWhoIsFurthestBehind) {
  const std::vector<WatchedRank> inside{at(0, 1, 5, 5), at(1, 1, 5, 4), at(2, 1, 6, 5)};
  EXPECT_THAT(describe_hang(inside, 25), StartsWith("rank 1 on node hangs"));
  const std::vector<WatchedRank> earlier{at(0, 3, 5, 5), at(1, 2, 9, 9), at(2, 2, 9, 9)};
  EXPECT_THAT(describe_hang(earlier, 25), StartsWith("rank 1 on node, rank 2 on node hang:"));
}

TEST(WatchdogVerdict, BlamesWhoDoesNothingWhereTheOthersWaitBusily) {
  std::vector<WatchedRank> ranks{at(0, 1, 6, 5), at(1, 1, 6, 5), at(2, 1, 6, 5)};
  ranks[1].dead_seconds = 24;
  EXPECT_THAT(describe_hang(ranks, 25), StartsWith("rank 1 on node hangs: no progress for 25 s"));
  for (WatchedRank& one : ranks) one.dead_seconds = 24;
  EXPECT_THAT(describe_hang(ranks, 25), StartsWith("all ranks hang"));
}

TEST(WatchdogVerdict, BlamesTheSilentBeforeTheSlow) {
  std::vector<WatchedRank> ranks{at(0, 1, 5, 5), at(1, 1, 6, 5)};
  ranks[1].silent = true;
  EXPECT_THAT(describe_hang(ranks, 25), AllOf(StartsWith("rank 1"), Not(HasSubstr("rank 0"))));
}

TEST(WatchdogVerdict, SaysWhatSilentHostsLookLike) {
  std::vector<WatchedRank> ranks;
  for (int rank = 0; rank < 6; ++rank) {
    ranks.push_back(at(rank, 1, 5, 4));
    ranks.back().host = "host" + std::to_string(rank / 2 + 1);
  }
  ranks[2].silent = true;
  EXPECT_THAT(describe_silence(ranks, 2.5),
              AllOf(StartsWith("rank 2 on host2: no sign of life"), Not(HasSubstr("cut off"))));
  ranks[3].silent = true;
  EXPECT_THAT(describe_hang(ranks, 25), HasSubstr("(all of host2: stopped, down or cut off)"));
  ranks[4].silent = ranks[5].silent = true;
  EXPECT_THAT(describe_silence(ranks, 2.5),
              HasSubstr("(all hosts but host1: it may be the one that is cut off)"));
  ranks.resize(4);
  EXPECT_THAT(describe_silence(ranks, 2.5), HasSubstr("(all of host2: stopped, down or cut off)"));
}

TEST(WatchdogVerdict, SaysWhenItWasBetweenCells) {
  Told dead;
  dead.rank = 1;
  std::string("node").copy(dead.host.data(), dead.host.size() - 1);
  EXPECT_EQ(describe_death(dead), "rank 1 on node died before its first cell; ending all ranks");
  dead.progress.cells = 4;
  std::string("ring 1 MiB").copy(dead.progress.name.data(), dead.progress.name.size() - 1);
  EXPECT_EQ(describe_death(dead), "rank 1 on node died after \"ring 1 MiB\"; ending all ranks");
}

/// Ranks that mark their progress, and a judge who hears of them twice a second, in made-up time.
class Court {
 public:
  explicit Court(int ranks, double limit_seconds = 5) : judge_(ranks, limit_seconds) {
    for (int rank = 0; rank < ranks; ++rank) {
      ranks_.emplace_back();
      ranks_.back().marks.set_patience({limit_seconds, true});
      ranks_.back().told.rank = rank;
      std::string("node").copy(ranks_.back().told.host.data(), 4);
    }
  }

  struct Rank {
    ProgressMarks marks;
    Told told;
    bool stopped = false;
    bool lives = false;  // computes, reads or writes
    bool works = false;  // does an operation each time
    bool parted = false;
  };
  Rank& rank(int number) { return ranks_[static_cast<std::size_t>(number)]; }
  std::deque<Rank>& ranks() { return ranks_; }
  Judge& judge() { return judge_; }
  double now() const { return now_; }

  /// What is said within `seconds`, and nothing after it; "" where all is well.
  std::string said_within(double seconds) {
    for (const double end = now_ + seconds; now_ < end; now_ += 0.5) {
      for (Rank& one : ranks_) {
        if (one.parted) continue;
        if (one.works) one.marks.enter();
        if (one.works) one.marks.leave();
        if (!one.stopped) ++one.told.beat;
        signs_ += one.lives ? 1 : 0;
        one.told.progress = one.marks.read();
        one.told.progress.signs = one.lives ? signs_ : 0;
        judge_.hear(one.told, now_);
      }
      const Judge::Finding finding = judge_.look(now_);
      if (!finding.note.empty()) notes.push_back(finding.note);
      if (!finding.verdict.empty()) return finding.verdict;
    }
    return "";
  }
  void sleep(double seconds) { now_ += seconds; }

  std::vector<std::string> notes;

 private:
  Judge judge_;
  std::deque<Rank> ranks_;
  double now_ = 1000;
  std::uint64_t signs_ = 0;
};

TEST(WatchdogJudge, IsQuietWhenAllGoesWell) {
  Court court(3);
  for (int cell = 0; cell < 3; ++cell) {
    for (Court::Rank& one : court.ranks()) {
      one.marks.cell("fine");
      one.works = true;
    }
    EXPECT_EQ(court.said_within(20), "");
    for (Court::Rank& one : court.ranks()) {
      one.marks.end_cell();
      one.works = false;
    }
    EXPECT_EQ(court.said_within(20), "") << "all may wait for a slow file";
  }
  court.judge().dismiss(1, /*failing=*/false, court.now());
  court.rank(1).parted = true;
  EXPECT_EQ(court.said_within(20), "") << "ranks may end apart";
  EXPECT_TRUE(court.notes.empty());
}

TEST(WatchdogJudge, NamesTheRankThatTheOthersWaitFor) {
  for (const int culprit : {0, 2}) {
    Court court(3);
    for (Court::Rank& one : court.ranks()) {
      one.marks.cell("allreduce ring float 1 MiB");
      for (int i = 0; i < 16; ++i) one.marks.enter();
      one.marks.leave();
      if (one.told.rank != culprit) one.marks.enter();
    }
    EXPECT_EQ(court.said_within(4.5), "");
    EXPECT_EQ(court.said_within(10),
              "rank " + std::to_string(culprit) +
                  " on node hangs: no progress for 5 s in \"allreduce ring float 1 MiB\" (after "
                  "operation 16 of the cell), and the others wait; ending all ranks");
  }
}

TEST(WatchdogJudge, SaysWhenAllHangTogether) {
  Court court(2);
  for (Court::Rank& one : court.ranks()) one.marks.cell("stuck");
  EXPECT_THAT(court.said_within(10),
              StartsWith("all ranks hang: no progress for 5 s in \"stuck\""));
}

TEST(WatchdogJudge, NamesTheRankThatIsStopped) {
  for (const Stage stage : {Stage::cell, Stage::between}) {
    Court court(3, 8);
    for (Court::Rank& one : court.ranks()) {
      one.marks.cell("cell");
      if (stage == Stage::between) one.marks.end_cell();
    }
    EXPECT_EQ(court.said_within(1), "");
    court.rank(1).stopped = true;
    EXPECT_EQ(court.said_within(4), "");
    ASSERT_EQ(court.notes.size(), 1U) << "long before that ends anything";
    EXPECT_THAT(court.notes[0], StartsWith("rank 1 on node: no sign of life for 2.5 s"));
    EXPECT_THAT(court.said_within(10), StartsWith("rank 1 on node: no sign of life for 8 s"));
  }
}

TEST(WatchdogJudge, NotesEachSilenceOnce) {
  Court court(2, 25);
  for (int times = 1; times <= 2; ++times) {
    EXPECT_EQ(court.said_within(3), "");
    court.rank(1).stopped = true;
    EXPECT_EQ(court.said_within(5), "");
    court.rank(1).stopped = false;
    EXPECT_EQ(court.notes.size(), times);
  }
}

TEST(WatchdogJudge, LeavesAJobAloneThatIsStoppedAsAWhole) {
  Court court(2);
  for (Court::Rank& one : court.ranks()) one.marks.cell("cell");
  for (Court::Rank& one : court.ranks()) one.stopped = true;
  EXPECT_EQ(court.said_within(60), "");
  court.rank(0).stopped = false;
  EXPECT_EQ(court.said_within(0.5), "") << "its ranks go on one by one";
  court.rank(1).stopped = false;
  EXPECT_EQ(court.said_within(4), "");
}

TEST(WatchdogJudge, NamesTheLastOneThatIsStoppedWhereOthersHaveEnded) {
  Court court(2);
  EXPECT_EQ(court.said_within(1), "");
  court.judge().dismiss(0, /*failing=*/false, court.now());
  court.rank(0).parted = true;
  court.rank(1).stopped = true;
  EXPECT_THAT(court.said_within(10), StartsWith("rank 1 on node: no sign of life for 5 s"));
}

TEST(WatchdogJudge, WhoSleptKnowsNothingOfTheMeantime) {
  Court court(2);
  for (Court::Rank& one : court.ranks()) one.marks.cell("cell");
  EXPECT_EQ(court.said_within(3), "");
  court.sleep(60);
  EXPECT_EQ(court.said_within(4), "");
  EXPECT_THAT(court.said_within(4), StartsWith("all ranks hang"));
}

TEST(WatchdogJudge, WaitsLongerForWhatTakesLong) {
  Court court(2);
  for (Court::Rank& one : court.ranks()) {
    one.marks.cell("slow");
    one.marks.expect(1);
  }
  EXPECT_EQ(court.said_within(99), "");
  EXPECT_THAT(court.said_within(10), StartsWith("all ranks hang: no progress for 100 s"));
}

TEST(WatchdogJudge, NamesOneDeath) {
  Court court(4);
  EXPECT_TRUE(court.judge().may_name_death(2, 10));
  EXPECT_TRUE(court.judge().may_name_death(2, 10.1)) << "asked again";
  EXPECT_FALSE(court.judge().may_name_death(3, 10.1)) << "as the launcher has ended it";
}

TEST(WatchdogJudge, NamesTheDeathBehindAFailureAndNoneAfterIt) {
  Court before(3), after(3);
  for (Court* one : {&before, &after}) one->judge().dismiss(1, /*failing=*/true, 10);
  EXPECT_TRUE(before.judge().may_name_death(2, 10.2)) << "for that rank 1 has failed";
  EXPECT_FALSE(after.judge().may_name_death(2, 12)) << "now the launcher ends the others";
}

TEST(WatchdogJudge, NamesTheRankThatAnotherIsAheadOfInASpan) {
  Court court(3);
  for (Court::Rank& one : court.ranks()) {
    one.marks.span("opening transport nccl");
    if (one.told.rank != 2) one.marks.span("first message");
  }
  EXPECT_EQ(court.said_within(10),
            "rank 2 on node hangs: no progress for 5 s in \"opening transport nccl\", and the "
            "others wait; ending all ranks");
}

TEST(WatchdogJudge, ARankThatComputesOnItsOwnTakesItsTime) {
  Court court(2);
  court.rank(0).marks.cell("cell");
  court.rank(1).marks.work("building the model");
  court.rank(1).lives = true;
  EXPECT_EQ(court.said_within(600), "");
}

TEST(WatchdogJudge, NamesTheRankWhoseWorkStandsStill) {
  Court court(2);
  court.rank(0).marks.cell("cell");
  court.rank(0).lives = true;
  court.rank(1).marks.work("building the model");
  EXPECT_EQ(court.said_within(49), "");
  EXPECT_EQ(
      court.said_within(10),
      "rank 1 on node has not computed, read or written anything for 50.5 s in \"building the "
      "model\"; ending all ranks");
}

TEST(WatchdogJudge, NamesTheRankThatStandsStillBetweenCells) {
  // As when rank 0 writes rows to a server that is gone, and the other waits busily for it.
  Court court(2);
  for (Court::Rank& one : court.ranks()) {
    one.marks.cell("cell");
    one.marks.end_cell();
  }
  court.rank(1).lives = true;
  EXPECT_THAT(court.said_within(60),
              AllOf(StartsWith("rank 0 on node has not computed"), HasSubstr("after \"cell\"")));
}

TEST(WatchdogJudge, NamesTheRankWhoseLibraryNeverReturnsFromACallInsideAWork) {
  Court court(2);
  std::deque<CallMarks::Call> calls;
  for (Court::Rank& one : court.ranks()) {
    one.marks.work("building the model");
    calls.emplace_back(&one.marks.calls());
  }
  court.rank(0).lives = true;
  EXPECT_THAT(court.said_within(10),
              StartsWith("rank 1 on node hangs: no progress for 5 s in \"building the model\", and "
                         "no work, where the others wait busily"));
}

TEST(WatchdogJudge, ARankThatWaitsForOneThatWorksTakesItsTime) {
  Court court(2);
  for (Court::Rank& one : court.ranks()) {
    one.marks.work("building the model");
    one.lives = true;
  }
  const CallMarks::Call call(&court.rank(0).marks.calls());
  EXPECT_EQ(court.said_within(60), "");
}

TEST(WatchdogJudge, NamesTheRankThatIsBusyForEver) {
  Court court(2);
  for (Court::Rank& one : court.ranks()) {
    one.marks.work("building the model");
    one.lives = true;
  }
  court.rank(0).marks.work("first step");
  EXPECT_EQ(court.said_within(719), "");
  EXPECT_THAT(court.said_within(10),
              StartsWith("rank 1 on node hangs: no progress for 720 s in \"building the model\""));
}

}  // namespace
}  // namespace scalebench
