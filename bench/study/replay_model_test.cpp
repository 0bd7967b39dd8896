// SPDX-License-Identifier: Apache-2.0
// Recorded steps as the model of a study: found, called in rows, planned, and refused.
#include "bench/study/replay_model.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "bench/study/config_text.hpp"
#include "bench/study/plan.hpp"
#include "bench/study/plan_file.hpp"
#include "kernels/temporary_folder.hpp"

namespace scalebench {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;

class ReplayModel : public testing::Test {
 protected:
  ReplayModel() { folder_.write("traces/tiny.json", "{}"); }

  StudyConfig read(const std::string& epoch) const {
    KnownNames known;
    known.models = {"mlp"};
    return read_study_config(
        folder_.write("study.toml", "[study]\nranks = [1, 2]\nlaunches = 1\n[[epoch]]\n" + epoch),
        known);
  }
  std::string refused(const std::string& epoch) const {
    return message_of<UsageError>([&] { read(epoch); });
  }
  TemporaryFolder folder_;
};

constexpr const char* kTiny = "model = \"replay:traces/tiny.json\"\nscaling = \"weak\"\n";

TEST_F(ReplayModel, IsFoundBesideTheConfig) {
  const EpochStudy study = read(kTiny).epochs.at(0);
  EXPECT_THAT(study.model, AllOf(testing::StartsWith("replay:/"), EndsWith("/traces/tiny.json")));
  EXPECT_EQ(study.dilation, 1);
  EXPECT_EQ(label_in_rows(study.model), "replay:tiny");
  EXPECT_EQ(label_in_rows("mlp"), "mlp");
  EXPECT_FALSE(found_replay("replay:none.json", folder_.path()));
}

TEST_F(ReplayModel, IsPlannedWithItsDilationAndWithoutImages) {
  const StudyConfig config = read(std::string(kTiny) + "dilation = 10\n");
  bool seen = false;
  for (const PlannedLaunch& launch : plan_of(config, {.devices = 2})) {
    EXPECT_THAT(launch.name, testing::StartsWith("epoch-replay-tiny-"));
    EXPECT_EQ(argument_of(launch, "--model"), config.epochs[0].model);
    EXPECT_EQ(argument_of(launch, "--dilation"), "10");
    EXPECT_EQ(argument_of(launch, "--scaling"), "weak");
    EXPECT_EQ(std::ranges::count(launch.arguments, "--data-dir"), 0);
    EXPECT_EQ(argument_of(launch, "--record-trace"), "") << "it is one already";
    seen = true;
  }
  EXPECT_TRUE(seen);
  const std::string text = config_text(config);
  EXPECT_EQ(config_text(read_study_config(folder_.write("again.toml", text))), text);
}

TEST_F(ReplayModel, IsRefusedWithItsPlace) {
  EXPECT_THAT(refused("model = \"replay:none.json\"\nscaling = \"weak\"\n"),
              AllOf(HasSubstr("study.toml:5:9: model: replay:none.json is no file"),
                    HasSubstr("--record-trace")));
  EXPECT_THAT(refused("model = \"replay:traces/tiny.json\"\n"),
              AllOf(HasSubstr(":5:9: scaling: "), HasSubstr("valid: \"weak\"")));
  EXPECT_THAT(refused(std::string(kTiny) + "scaling = \"strong\"\n"), HasSubstr("study.toml:7:"));
  EXPECT_THAT(refused(std::string(kTiny) + "data = \"synthetic\"\n"),
              HasSubstr(":7:8: data: a replayed model sees no images"));
  EXPECT_THAT(refused(std::string(kTiny) + "ladder = true\n"), HasSubstr(":7:10: ladder"));
  EXPECT_THAT(refused(std::string(kTiny) + "dilation = 0\n"), HasSubstr(":7:12: dilation"));
  EXPECT_THAT(refused("model = \"mlp\"\ndilation = 2\n"),
              AllOf(HasSubstr(":6:12: dilation: "), HasSubstr("replay:FILE")));
}

TEST(RecordTrace, IsOnTheLaunchesOfTheBaseline) {
  StudyConfig config;
  config.launches = 1;
  config.ranks = {1, 2};
  config.epochs.emplace_back().model = "mlp";
  for (const bool wanted : {true, false}) {
    config.record_trace = wanted;
    for (const PlannedLaunch& launch : plan_of(config, {.devices = 2})) {
      const bool records = wanted && launch.gradient_sync == "one_device";
      EXPECT_EQ(argument_of(launch, "--record-trace"), records ? "trace.json" : "") << launch.name;
    }
  }
}

}  // namespace
}  // namespace scalebench
