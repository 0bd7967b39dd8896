// SPDX-License-Identifier: Apache-2.0
// From milestones to what a fault cost.
#include "bench/study/run/recovery.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/record/file.hpp"
#include "kernels/error.hpp"
#include "kernels/testing.hpp"
#include "models/checkpoint_file.hpp"

namespace scalebench {
namespace {

TrainingStart hit() {
  return {100,
          109,
          {{101, "a", 0, "begins", 0, ""},
           {102, "a", 0, "first step ended", 1, ""},
           {103, "a", 0, "checkpoint", 10, ""},
           {104, "a", 0, "checkpoint", 20, ""},
           {106, "a", 1, "killed", 25, ""},
           {107, "a", 0, "noticed", 25, "rank 1 on a died"}},
          "a"};
}

TrainingStart resumed() {
  return {
      110, 120, {{112, "a", 0, "begins", 20, ""}, {113, "a", 0, "first step ended", 21, ""}}, "a"};
}

const TrainingStart kUndisturbed{200, 212, {}};

ResultRow recovery_of(const TrainingStart& disturbed, const TrainingStart& anew) {
  ResultRow row(recovery_schema());
  set_recovery(row, "killed", disturbed, anew, kUndisturbed, 64);
  return row;
}

TEST(Recovery, CountsFromTheFault) {
  const ResultRow row = recovery_of(hit(), resumed());
  EXPECT_EQ(row.get("noticed_seconds"), "1");
  EXPECT_EQ(row.get("note"), "rank 1 on a died");
  EXPECT_EQ(row.get("detection_seconds"), "3");
  EXPECT_EQ(row.get("restart_seconds"), "3");
  EXPECT_EQ(row.get("down_seconds"), "7");
  EXPECT_EQ(row.get("lost_samples"), "320");
  EXPECT_EQ(row.get("overhead_seconds"), "8");
}

TEST(Recovery, WithoutACheckpointAllWorkIsLost) {
  TrainingStart none = hit(), anew = resumed();
  std::erase_if(none.milestones, [](const Milestone& one) { return one.event == "checkpoint"; });
  anew.milestones[0].step = 0;
  const ResultRow row = recovery_of(none, anew);
  EXPECT_EQ(row.get("lost_samples"), "1600");
}

TEST(Recovery, LeavesEmptyWhatIsNotKnown) {
  TrainingStart elsewhere = hit();
  elsewhere.milestones[4].host = "b";
  elsewhere.milestones.pop_back();
  const ResultRow row = recovery_of(elsewhere, {110, 111, {}});
  EXPECT_EQ(row.get("detection_seconds"), "") << "clocks of two hosts";
  for (const char* const column :
       {"noticed_seconds", "restart_seconds", "down_seconds", "lost_samples"}) {
    EXPECT_EQ(row.get(column), "") << column;
  }
  TrainingStart remote = resumed();
  remote.host = "c";
  EXPECT_EQ(recovery_of(hit(), remote).get("restart_seconds"), "");
  ResultRow stopped(recovery_schema());
  EXPECT_THROW(set_recovery(stopped, "stopped", hit(), resumed(), kUndisturbed, 64), Error);
}

TEST(Recovery, OtherBitsAreWrongUnlessTheStrategysSumsHangOnTime) {
  const auto judged = [](const char* sync, int ranks, bool same) {
    ResultRow row = recovery_of(hit(), resumed());
    row.set("gradient_sync", sync).set("ranks", ranks).set("status", "ok").set("repetition", 1);
    set_same_bits(row, same);
    EXPECT_EQ(row.get("same_parameters"), same ? "1" : "0");
    const std::string table = recovery_table({row});
    const auto last = table.find_last_of(' ', table.find_last_not_of('\n'));
    return row.get("status") + table.substr(last, table.size() - last - 1);
  };
  EXPECT_EQ(judged("mirrored", 3, true), "ok yes");
  EXPECT_EQ(judged("mirrored", 3, false), "wrong NO");
  EXPECT_EQ(judged("horovod", 2, false), "wrong NO");
  EXPECT_EQ(judged("horovod", 3, false), "ok time");
  EXPECT_EQ(judged("ps_async", 2, false), "ok time");
  EXPECT_EQ(judged("ps_async", 2, true), "ok yes");
}

TEST(SameTensors, LooksAtWhatLiesBetweenHeaderAndHash) {
  const TemporaryFolder folder;
  const auto one = folder.write("a", checkpoint_file("seconds 1", "weights"));
  EXPECT_TRUE(same_tensors(one, folder.write("b", checkpoint_file("seconds 22", "weights"))));
  EXPECT_FALSE(same_tensors(one, folder.write("c", checkpoint_file("seconds 1", "weighty"))));
  EXPECT_FALSE(same_tensors(one, folder.write("d", checkpoint_file("seconds 1", "weight"))));
  std::string damaged = read_file(one);
  damaged[20] = '#';
  EXPECT_THAT([&] { same_tensors(one, folder.write("e", damaged)); },
              testing::ThrowsMessage<UsageError>(testing::HasSubstr("e: its checksum does not")));
}

TEST(Milestones, AreReadInTheirOrder) {
  const TemporaryFolder folder;
  const auto path = folder.write(
      "m.csv", "seconds,host,rank,event,step,note\n1.5,h,0,begins,0,\n2.5,h,1,killed,7,\"a,b\"\n");
  const auto milestones = read_milestones(path);
  ASSERT_EQ(milestones.size(), 2U);
  EXPECT_EQ(milestones[1].seconds, 2.5);
  EXPECT_EQ(milestones[1].rank, 1);
  EXPECT_EQ(milestones[1].step, 7);
  EXPECT_EQ(milestones[1].note, "a,b");
  EXPECT_TRUE(read_milestones(folder / "none.csv").empty());
}

}  // namespace
}  // namespace scalebench
