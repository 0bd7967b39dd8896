// SPDX-License-Identifier: Apache-2.0
// From milestones to what a fault cost.
#include "bench/study/run/recovery.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

TEST(Recovery, CountsFromTheFault) {
  const nlohmann::json found = recovery_of("killed", hit(), resumed(), 64);
  EXPECT_EQ(found.at("noticed_seconds"), 1);
  EXPECT_EQ(found.at("note"), "rank 1 on a died");
  EXPECT_EQ(found.at("ended_seconds"), 3);
  EXPECT_EQ(found.at("restart_seconds"), 3);
  EXPECT_EQ(found.at("down_seconds"), 7);
  EXPECT_EQ(found.at("lost_samples"), 320);
}

TEST(Recovery, WithoutACheckpointAllWorkIsLost) {
  TrainingStart none = hit(), anew = resumed();
  std::erase_if(none.milestones, [](const Milestone& one) { return one.event == "checkpoint"; });
  anew.milestones[0].step = 0;
  EXPECT_EQ(recovery_of("killed", none, anew, 64).at("lost_samples"), 1600);
}

TEST(Recovery, IsNullWhereNothingIsKnown) {
  TrainingStart elsewhere = hit();
  elsewhere.milestones[4].host = "b";
  elsewhere.milestones.pop_back();
  const nlohmann::json found = recovery_of("killed", elsewhere, {110, 111, {}}, 64);
  EXPECT_TRUE(found.at("ended_seconds").is_null()) << "clocks of two hosts";
  for (const char* const key :
       {"noticed_seconds", "restart_seconds", "down_seconds", "lost_samples"}) {
    EXPECT_TRUE(found.at(key).is_null()) << key;
  }
  TrainingStart remote = resumed();
  remote.host = "c";
  EXPECT_TRUE(recovery_of("killed", hit(), remote, 64).at("restart_seconds").is_null());
  EXPECT_THROW(recovery_of("stopped", hit(), resumed(), 64), Error);
}

TEST(RecoveryText, SaysWhatIsKnownOrWhyNothingIs) {
  nlohmann::json found = recovery_of("killed", hit(), {110, 111, {}}, 64);
  found["status"] = "ok";
  EXPECT_THAT(recovery_text(found),
              testing::AllOf(testing::ContainsRegex("the rank was named +1.00 s\n"),
                             testing::ContainsRegex("lost work +-\n"),
                             testing::EndsWith("rank 1 on a died\n")));
  EXPECT_EQ(recovery_text({{"status", "failed"}, {"note", "exit code 9"}}),
            "failed: exit code 9\n");
  EXPECT_THAT(recovery_text({{"fault", "kill:1@2"}}), testing::StartsWith("interrupted"));
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
