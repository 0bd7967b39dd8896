// SPDX-License-Identifier: Apache-2.0
#include "bench/program/watchdog/verdict.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
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

TEST(ProgressMarks, OfOneThatWaitsHaveTheLimitOfASpan) {
  CallMarks calls;
  ProgressMarks marks(25, true, 10, &calls);
  const RankProgress before = marks.read();
  {
    const CallMarks::Call call(&calls);
    EXPECT_EQ(marks.read().limit_seconds, 25);
    EXPECT_FALSE(marks.read().shows_life());
  }
  {
    const CallMarks::Call longer(&calls, std::size_t{1} << 30U);
    { const CallMarks::Call inner(&calls); }
    EXPECT_GT(marks.read().limit_seconds, 100) << "a message that takes its time";
    marks.begin("cell", Stage::cell);
    EXPECT_EQ(marks.read().limit_seconds, 25);
    marks.end_cell();
  }
  EXPECT_EQ(marks.read().limit_seconds, 250);
  EXPECT_FALSE(marks.read().stands_still_since(before)) << "a call is progress";
  std::thread([&] {
    const CallMarks::Call of_another(&calls);
    EXPECT_EQ(marks.read().limit_seconds, 250) << "threads that move gradients do not count";
  }).join();
}

TEST(ProgressMarks, AnOperationThatWasNotLeftIsOverWithTheNext) {
  ProgressMarks marks(25, true, 10);
  marks.enter();
  marks.enter();
  EXPECT_EQ(marks.read().moves, 3U) << "inside the second";
  marks.leave();
  marks.leave();
  EXPECT_EQ(marks.read().moves, 4U);
}

TEST(ProgressMarks, HaveALimitForEveryStage) {
  ProgressMarks marks(25, true, 10);
  const auto limit = [&] { return marks.read().limit_seconds; };
  EXPECT_EQ(limit(), 250) << "before the first cell";
  marks.begin("cell", Stage::cell);
  EXPECT_EQ(limit(), 25);
  marks.expect(1);
  EXPECT_EQ(limit(), 100);
  marks.expect(0.1);
  EXPECT_EQ(limit(), 25);
  marks.end_cell();
  EXPECT_EQ(limit(), 250);
  marks.begin("work", Stage::work);
  EXPECT_EQ(limit(), 250);
  marks.expect(1);
  EXPECT_EQ(limit(), 250) << "what takes long makes no limit shorter";
  marks.expect(10);
  EXPECT_EQ(limit(), 1000);
  marks.begin("span", Stage::span);
  EXPECT_EQ(limit(), 25);
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
  WatchedRank idle = at(1, 4, 9, 9);
  idle.progress.stage = Stage::between;
  std::string("ring 1 MiB").copy(idle.progress.name, sizeof(idle.progress.name) - 1);
  EXPECT_EQ(describe_death(idle), "rank 1 on node died after \"ring 1 MiB\"; ending all ranks");
  EXPECT_EQ(describe_death({1, "node", false, 0, 0, {}}),
            "rank 1 on node died before its first cell; ending all ranks");
}

}  // namespace
}  // namespace scalebench
