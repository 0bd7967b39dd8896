// SPDX-License-Identifier: Apache-2.0
#include "bench/training/throughput/options.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "bench/cli/testing.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

ThroughputOptions throughput(const std::vector<std::string>& words) {
  return parsed(&parse_throughput_options, words, 1);
}

std::string refusal(const std::vector<std::string>& words) {
  try {
    throughput(words);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(ThroughputOptions, OneCaseByDefault) {
  const ThroughputOptions options = throughput({});
  EXPECT_THAT(options.batches, ElementsAre(0));
  ASSERT_EQ(options.training.variants.size(), 1);
  EXPECT_EQ(options.training.variants[0].precision, Precision::float32);
  EXPECT_FALSE(options.training.variants[0].channels_last);
  EXPECT_EQ(options.training.variants[0].step, StepKind::eager);
  EXPECT_FALSE(options.training.trainer.exact_phases) << "phases wait for the device";
}

TEST(ThroughputOptions, ANumberOfStepsIsCappedOnlyWhereThatIsAskedFor) {
  EXPECT_EQ(throughput({}).max_seconds, 5);
  EXPECT_TRUE(std::isinf(throughput({"-n", "9"}).max_seconds));
  EXPECT_EQ(throughput({"-n", "9", "--max-seconds", "2"}).max_seconds, 2);
}

TEST(ThroughputOptions, ListsMultiply) {
  const ThroughputOptions options =
      throughput({"--precision", "float32,tf32,bfloat16,fp16", "--channels-last", "both", "--step",
                  "eager,graph,fused", "--batch-per-rank", "32,64"});
  const auto& ways = options.training.variants;
  ASSERT_EQ(ways.size(), 4 * (2 + 3)) << "fused steps are channels last, once";
  EXPECT_EQ(ways[1].precision, Precision::float32);
  EXPECT_EQ(ways[1].step, StepKind::graph);
  EXPECT_FALSE(ways[1].channels_last);
  EXPECT_EQ(ways.back().precision, Precision::fp16);
  EXPECT_TRUE(ways.back().channels_last);
  EXPECT_EQ(ways.back().step, StepKind::fused) << "a row will say that none can";
  EXPECT_THAT(options.batches, ElementsAre(32, 64));
}

TEST(ThroughputOptions, FusedStepsAreChannelsLastWhateverTheOthersAre) {
  const ThroughputOptions options = throughput({"--step", "eager,fused"});
  const auto& ways = options.training.variants;
  ASSERT_EQ(ways.size(), 2);
  EXPECT_FALSE(ways[0].channels_last);
  EXPECT_TRUE(ways[1].channels_last);
  EXPECT_EQ(throughput({"--step", "fused"}).training.trainer.step, StepKind::fused);
  EXPECT_TRUE(throughput({"--step", "fused"}).training.trainer.channels_last);
}

TEST(ThroughputOptions, RefusesInOneLine) {
  EXPECT_EQ(refusal({"--batch-per-rank", "32,largest"}),
            "--batch-per-rank largest: expected a number of images");
  EXPECT_THAT(refusal({"--batch-per-rank", "-2"}), HasSubstr("--batch-per-rank -2"));
  EXPECT_THAT(refusal({"--precision", "float32,tf23"}), HasSubstr("did you mean 'tf32'?"));
  EXPECT_THAT(refusal({"--channels-last", "maybe"}), HasSubstr("no, yes, both"));
  EXPECT_THAT(refusal({"--step", "eager,grpah"}), HasSubstr("did you mean 'graph'?"));
}

}  // namespace
}  // namespace scalebench
