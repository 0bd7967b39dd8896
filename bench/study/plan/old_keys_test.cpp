// SPDX-License-Identifier: Apache-2.0
#include "bench/study/plan/old_keys.hpp"

#include <gmock/gmock.h>

#include "bench/study/plan/config.hpp"
#include "kernels/error.hpp"
#include "kernels/testing.hpp"

namespace scalebench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kOld = R"([study]
devices = 4
gpus = "0,1"
[throughput]
models = ["mlp"]
batch = 16
[[epoch]]
model = "mlp"
batch = 64
[[epoch]]
model = "mlp"
batch = 32
samples = 320
scaling = "weak"
)";

TEST(OldKeys, SayWhatTodaysDo) {
  const StudyConfig config = parse_study_config(kOld, "old.toml");
  EXPECT_EQ(config.slots, 4);
  EXPECT_EQ(config.devices, "0,1");
  EXPECT_EQ(config.throughput->batch_per_rank, 16);
  EXPECT_EQ(config.epochs.at(0).global_batch, 64);
  EXPECT_EQ(config.epochs.at(1).batch_per_rank, 32);
  EXPECT_THAT(config.warnings,
              ElementsAre("old.toml:2:1: devices is now slots", "old.toml:3:1: gpus is now devices",
                          "old.toml:6:1: batch is now batch_per_rank",
                          "old.toml:9:1: batch is now global_batch",
                          "old.toml:12:1: batch is now batch_per_rank"));
  EXPECT_THAT(parse_study_config(config_text(config), "new.toml").warnings, IsEmpty());
}

TEST(OldKeys, AreRefusedWithTheirPlace) {
  const auto refusal = [](const char* text) {
    return message_of<UsageError>([&] { parse_study_config(text, "old.toml"); });
  };
  EXPECT_THAT(refusal("[throughput]\nmodels = [\"mlp\"]\nbatch = 0\n"),
              HasSubstr("old.toml:3:9: batch_per_rank: expected a whole number"));
  EXPECT_THAT(refusal("[throughput]\nmodels = [\"mlp\"]\nbatch = 1\nbatch_per_rank = 1\n"),
              HasSubstr("old.toml:3:1: unknown key 'batch'"));
}

}  // namespace
}  // namespace scalebench
