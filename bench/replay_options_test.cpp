// SPDX-License-Identifier: Apache-2.0
// What a replayed model takes and refuses, and what can be recorded.
#include "bench/replay_options.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/parsed_words.hpp"
#include "bench/throughput_options.hpp"
#include "kernels/temporary_folder.hpp"

namespace scalebench {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Words = std::vector<std::string>;

/// The refusal's text; "accepted" when there is none.
std::string epoch_refusal(const Words& words, int ranks) {
  const std::string text =
      message_of<UsageError>([&] { parsed(&parse_epoch_options, words, ranks); });
  EXPECT_EQ(text.find('\n'), std::string::npos) << text;
  return text.empty() ? "accepted" : text;
}

class ReplayOptions : public testing::Test {
 protected:
  /// The refusal of a replay of 4 images a step with these words.
  std::string refused(const Words& more, int ranks = 1) const {
    Words words{"--model", model_, "--scaling", "weak"};
    words.insert(words.end(), more.begin(), more.end());
    return epoch_refusal(words, ranks);
  }
  TemporaryFolder folder_;
  std::string model_ = "replay:" + folder_
                                       .write("tiny.json", R"({
  "schema_version": 1, "model": "tiny", "parameters": 3, "batch": 4, "device": "cpu",
  "dtype": "float", "threads": 1, "steps": 1, "layers": [
  {"name": "a", "forward_seconds": 0.1, "backward_seconds": 0.2, "gradients": [3]}],
  "load_seconds": 0, "update_seconds": 0, "host_seconds": 0, "step_seconds": [0.3]})")
                                       .string();
};

TEST_F(ReplayOptions, AreThoseOfTheTrace) {
  const EpochOptions options = parsed(
      &parse_epoch_options,
      {"--model", model_, "--scaling", "weak", "--dilation", "2.5", "--samples", "80000"}, 2);
  EXPECT_EQ(options.training.trainer.choice.label, "replay:tiny");
  EXPECT_EQ(options.training.trainer.choice.dilation, 2.5);
  EXPECT_EQ(options.training.trainer.dataset, "synthetic:80000");
  EXPECT_TRUE(options.training.record.emulated);
  EXPECT_FALSE(options.evaluate);
  EXPECT_EQ(options.warm_up_steps, 2);
}

TEST_F(ReplayOptions, TakeOnlyTheRecordedBatch) {
  EXPECT_EQ(refused({}, 2), "accepted") << "weak scaling keeps it";
  EXPECT_EQ(epoch_refusal({"--model", model_, "--global-batch", "8"}, 2), "accepted");
  EXPECT_THAT(epoch_refusal({"--model", model_}, 2),
              AllOf(HasSubstr("of 4 images a step"), HasSubstr("has 2 here"),
                    HasSubstr("--scaling weak"), HasSubstr("--global-batch 8")));
  EXPECT_THAT(refused({"--batch", "5"}), HasSubstr("each worker has 5 here"));
}

TEST_F(ReplayOptions, RefuseWhatOnlyComputingHas) {
  for (const Words& words :
       {Words{"--precision", "bf16"}, Words{"--channels-last", "yes"}, Words{"--accumulate", "2"},
        Words{"--loader-threads", "1"}, Words{"--data-dir", "synthetic"},
        Words{"--target-accuracy", "0.5"}, Words{"--share-of", "2"}}) {
    EXPECT_THAT(refused(words), AllOf(HasSubstr(words[0]), HasSubstr("leave it out")));
  }
  EXPECT_THAT(refused({"--device", "cuda"}), HasSubstr("sleeps on the CPU"));
  EXPECT_THAT(refused({"--dilation", "0"}), HasSubstr("--dilation 0: expected a factor above 0"));
  EXPECT_THAT(epoch_refusal({"--model", "mlp", "--dilation", "3"}, 1), HasSubstr("replay:"));
  EXPECT_THAT(epoch_refusal({"--model", "replay:/no/such.json"}, 1), HasSubstr("/no/such.json"));
  EXPECT_THAT(message_of<UsageError>([&] {
                parsed(&parse_throughput_options, {"--model", model_}, 1);
              }),
              HasSubstr("bench_epoch"));
}

TEST_F(ReplayOptions, RefuseToRecordWhatIsNoStepOfOneDevice) {
  const auto refusal_of = [](Words words, int ranks) {
    words.insert(words.end(), {"--record-trace", "t.json"});
    return epoch_refusal(words, ranks);
  };
  EXPECT_EQ(refusal_of({}, 1), "accepted");
  EXPECT_THAT(refusal_of({}, 2), HasSubstr("--record-trace: 2 ranks; expected one rank"));
  EXPECT_THAT(refusal_of({"--accumulate", "2"}, 1), HasSubstr("accumulated passes"));
  EXPECT_THAT(refusal_of({"--gradient-sync", "model_split"}, 1), HasSubstr("model_split"));
  EXPECT_THAT(refusal_of({"--model", model_}, 1), HasSubstr("a replayed model"));
  EXPECT_THAT(epoch_refusal({"--record-steps", "5"}, 1), HasSubstr("--record-trace"));
  EXPECT_THAT(refusal_of({"--record-steps", "-1"}, 1), HasSubstr("must not be negative"));
}

}  // namespace
}  // namespace scalebench
