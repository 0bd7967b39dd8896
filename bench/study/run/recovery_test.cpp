// SPDX-License-Identifier: Apache-2.0
// From milestones to what a fault cost.
#include "bench/study/run/recovery.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/error.hpp"
#include "kernels/testing.hpp"

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

TEST(Recovery, CountsFromTheFault) {
  const Recovery recovery = recovery_of("killed", hit(), resumed(), kUndisturbed);
  EXPECT_EQ(recovery.noticed_seconds, 1);
  EXPECT_EQ(recovery.noticed, "rank 1 on a died");
  EXPECT_EQ(recovery.detection_seconds, 3);
  EXPECT_EQ(recovery.restart_seconds, 3);
  EXPECT_EQ(recovery.down_seconds, 7);
  EXPECT_EQ(recovery.lost_seconds, 2);
  EXPECT_EQ(recovery.lost_steps, 5);
  EXPECT_EQ(recovery.resumed_step, 20);
  EXPECT_EQ(recovery.overhead_seconds(), 8);
  ResultRow row(recovery_schema());
  set_recovery(row, recovery, 64);
  EXPECT_EQ(row.get("lost_samples"), "320");
  EXPECT_EQ(row.get("overhead_seconds"), "8");
}

TEST(Recovery, WithoutACheckpointAllWorkIsLost) {
  TrainingStart none = hit(), anew = resumed();
  std::erase_if(none.milestones, [](const Milestone& one) { return one.event == "checkpoint"; });
  anew.milestones[0].step = 0;
  const Recovery recovery = recovery_of("killed", none, anew, kUndisturbed);
  EXPECT_EQ(recovery.lost_steps, 25);
  EXPECT_EQ(recovery.lost_seconds, 5);
}

TEST(Recovery, LeavesEmptyWhatIsNotKnown) {
  TrainingStart elsewhere = hit();
  elsewhere.milestones[4].host = "b";
  elsewhere.milestones.pop_back();
  const Recovery recovery = recovery_of("killed", elsewhere, {110, 111, {}}, kUndisturbed);
  EXPECT_TRUE(std::isnan(recovery.detection_seconds)) << "clocks of two hosts";
  EXPECT_TRUE(std::isnan(recovery.noticed_seconds));
  EXPECT_TRUE(std::isnan(recovery.restart_seconds));
  EXPECT_TRUE(std::isnan(recovery.lost_steps));
  ResultRow row(recovery_schema());
  set_recovery(row, recovery, 64);
  EXPECT_EQ(row.get("detection_seconds"), "");
  EXPECT_EQ(row.get("lost_samples"), "");
  TrainingStart remote = resumed();
  remote.host = "c";
  EXPECT_TRUE(std::isnan(recovery_of("killed", hit(), remote, kUndisturbed).restart_seconds));
  EXPECT_THROW(recovery_of("stopped", hit(), resumed(), kUndisturbed), Error);
}

std::string checkpoint(const std::string& header, const std::string& tensors) {
  std::string bytes = "SCBCKPT1";
  bytes += static_cast<char>(header.size());
  bytes += std::string(7, '\0');
  return bytes + header + tensors + std::string(32, '#');
}

TEST(SameTensors, LooksAtWhatLiesBetweenHeaderAndHash) {
  const TemporaryFolder folder;
  const auto one = folder.write("a", checkpoint("seconds 1", "weights"));
  EXPECT_TRUE(same_tensors(one, folder.write("b", checkpoint("seconds 22", "weights"))));
  EXPECT_FALSE(same_tensors(one, folder.write("c", checkpoint("seconds 1", "weighty"))));
  EXPECT_FALSE(same_tensors(one, folder.write("d", checkpoint("seconds 1", "weight"))));
  EXPECT_THROW(same_tensors(one, folder.write("e", "SCBCKPT1")), UsageError);
  EXPECT_THROW(same_tensors(one, folder.write("f", std::string("SCBCKPT1") + std::string(60, '~'))),
               UsageError);
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
