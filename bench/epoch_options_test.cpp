// SPDX-License-Identifier: Apache-2.0
// What the training programs refuse, in one line that names it; and that they take what a study
// puts on their command lines.
#include "bench/epoch_options.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "bench/study/launch.hpp"
#include "bench/study/plan.hpp"
#include "bench/throughput_options.hpp"
#include "kernels/error.hpp"
#include "models/models.hpp"

namespace scalebench {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Words = std::vector<std::string>;

template <class Options>
Options parsed(Options (*parse)(int, const char* const*, int), const Words& words, int ranks) {
  std::vector<const char*> argv{"a_program"};
  for (const std::string& word : words) argv.push_back(word.c_str());
  return parse(static_cast<int>(argv.size()), argv.data(), ranks);
}

EpochOptions epoch(const Words& words, int ranks = 2) {
  return parsed(&parse_epoch_options, words, ranks);
}

ThroughputOptions throughput(const Words& words, int ranks = 2) {
  return parsed(&parse_throughput_options, words, ranks);
}

/// The refusal's text, which must be one line; "accepted" when there is none.
template <class Call>
std::string refusal(Call call) {
  try {
    call();
  } catch (const UsageError& error) {
    const std::string text = error.what();
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
    return text;
  }
  return "accepted";
}

std::string epoch_refusal(const Words& words, int ranks = 2) {
  return refusal([&] { epoch(words, ranks); });
}

std::string throughput_refusal(const Words& words) {
  return refusal([&] { throughput(words); });
}

TEST(EpochOptions, RefuseAnUnknownNameWithTheNearest) {
  EXPECT_THAT(epoch_refusal({"--model", "mnist_cn"}), HasSubstr("did you mean 'mnist_cnn'?"));
  EXPECT_THAT(epoch_refusal({"--gradient-sync", "miror"}), HasSubstr("did you mean 'mirrored'?"));
  EXPECT_THAT(epoch_refusal({"--allreduce", "rnig"}), HasSubstr("did you mean 'ring'?"));
  EXPECT_THAT(epoch_refusal({"--scaling", "storng"}), HasSubstr("did you mean 'strong'?"));
  EXPECT_THAT(epoch_refusal({"--optimizer", "adm"}), HasSubstr("did you mean 'adam'?"));
  EXPECT_THAT(epoch_refusal({"--device", "cdua"}), HasSubstr("did you mean 'cuda'?"));
  EXPECT_THAT(epoch_refusal({"--format", "jsn"}), HasSubstr("did you mean 'json'?"));
  EXPECT_THAT(epoch_refusal({"--lr-scaling", "liner"}), HasSubstr("did you mean 'linear'?"));
  EXPECT_THAT(epoch_refusal({"--transport", "ncl"}), HasSubstr("did you mean 'nccl'?"));
  EXPECT_THAT(epoch_refusal({"--epoch", "3"}), HasSubstr("did you mean '--epochs'?"));
}

TEST(EpochOptions, RefuseAnImpossibleNumber) {
  for (const Words& words : {Words{"--epochs", "0"},
                             {"--epochs", "many"},
                             {"--warmup-steps", "-1"},
                             {"--lr", "-0.1"},
                             {"--lr", "nan"},
                             {"--global-batch", "-2"},
                             {"--lr-warmup", "-1"}}) {
    EXPECT_NE(epoch_refusal(words), "accepted") << words[0] << " " << words[1];
  }
}

TEST(EpochOptions, RefuseABatchThatTheScalingChanges) {
  EXPECT_THAT(epoch_refusal({"--batch", "32"}),
              AllOf(HasSubstr("--global-batch"), HasSubstr("--scaling weak")));
  EXPECT_THAT(epoch_refusal({"--scaling", "weak", "--global-batch", "32"}),
              AllOf(HasSubstr("--batch"), HasSubstr("--scaling strong")));
  EXPECT_EQ(epoch_refusal({"--scaling", "weak", "--batch", "32"}), "accepted");
}

TEST(EpochOptions, RefuseAGlobalBatchThatDoesNotDivide) {
  EXPECT_THAT(epoch_refusal({"--global-batch", "33"}),
              AllOf(HasSubstr("33"), HasSubstr("2 ranks"), HasSubstr("32 or 34")));
  EXPECT_EQ(epoch_refusal({"--global-batch", "33"}, 3), "accepted");
}

TEST(EpochOptions, StrongScalingKeepsTheModelsBatchWhenNoneIsGiven) {
  const EpochOptions options = epoch({"--model", "mnist_cnn"});
  EXPECT_EQ(options.training.trainer.global_batch, model_named("mnist_cnn").batch);
  EXPECT_TRUE(options.evaluate);
  EXPECT_FALSE(epoch({"--no-evaluation"}).evaluate);
}

TEST(EpochOptions, TakeFaultsAndAShare) {
  const EpochOptions options =
      epoch({"--sleep-rank", "1:0.25", "--delay-collective", "0.5", "--throttle-input", "1e-3"}, 2);
  const Faults& faults = options.training.trainer.faults;
  EXPECT_EQ(faults.sleep_rank, 1);
  EXPECT_EQ(faults.sleep_seconds, 0.25);
  EXPECT_EQ(faults.delay_collective_seconds, 0.5);
  EXPECT_EQ(faults.throttle_input_seconds, 1e-3);
  EXPECT_EQ(epoch({"--share-of", "4"}, 1).training.trainer.share_of, 4);
  EXPECT_EQ(epoch({"-T", "7"}, 1).timeout_seconds, 7);
  for (const Words& words : {Words{"--sleep-rank", "1"},
                             {"--sleep-rank", "2:1"},
                             {"--sleep-rank", "-1:1"},
                             {"--sleep-rank", "1:x"},
                             {"--sleep-rank", "1:-1"},
                             {"--delay-collective", "nan"},
                             {"--throttle-input", "-1"},
                             {"--share-of", "0"},
                             {"-T", "-1"}}) {
    EXPECT_NE(epoch_refusal(words, 2), "accepted") << words[0] << " " << words[1];
  }
  EXPECT_THAT(epoch_refusal({"--global-batch", "33", "--share-of", "2"}, 1), HasSubstr("33"));
}

TEST(EpochOptions, ListAndHelpAreTexts) {
  EXPECT_THAT(epoch({"--list"}).text, AllOf(HasSubstr("resnet20"), HasSubstr("one_device")));
  EXPECT_THAT(epoch({"--help"}).text, HasSubstr("--global-batch"));
  EXPECT_EQ(epoch({}).text, "");
}

TEST(ThroughputOptions, RefuseWhatIsNotValid) {
  EXPECT_THAT(throughput_refusal({"--model", "resnet2"}), HasSubstr("did you mean 'resnet20'?"));
  EXPECT_THAT(throughput_refusal({"--modle", "mlp"}), HasSubstr("did you mean '--model'?"));
  EXPECT_THAT(throughput_refusal({"--gradient-sync", "none"}), HasSubstr("unknown option"));
  for (const Words& words : {Words{"-n", "-1"},
                             {"--max-seconds", "0"},
                             {"--max-seconds", "nan"},
                             {"--batch", "-1"},
                             {"-n", "1.5"}}) {
    EXPECT_NE(throughput_refusal(words), "accepted") << words[0] << " " << words[1];
  }
}

/// One study of everything, so that no word of a plan goes untested.
StudyConfig study(const std::string& scaling, const std::string& optimizer) {
  StudyConfig config;
  config.launches = 1;
  config.ranks = {1, 2};
  config.throughput.emplace().models = {"mlp"};
  EpochStudy& one = config.epochs.emplace_back();
  one.model = "mlp";
  one.scaling = scaling;
  one.optimizer = optimizer;
  one.evaluate = false;
  one.ladder = true;
  return config;
}

TEST(PlannedLaunches, AreCommandLinesThatTheProgramsTake) {
  LaunchSettings settings;
  settings.run_id = "run";
  for (const StudyConfig& config : {study("strong", ""), study("weak", "sgd")}) {
    for (const PlannedLaunch& launch : plan_of(config, {.devices = 2})) {
      const Words command = command_of(launch, settings, "out");
      const auto program = std::find(command.begin(), command.end(), launch.program);
      ASSERT_NE(program, command.end());
      const Words words(program + 1, command.end());
      if (launch.program == "bench_epoch") {
        const EpochOptions options = epoch(words, launch.ranks);
        EXPECT_EQ(options.training.trainer.gradient_sync, launch.gradient_sync);
        EXPECT_EQ(options.scaling, config.epochs[0].scaling);
        EXPECT_EQ(options.training.record.launch, launch.number);
      } else {
        EXPECT_EQ(throughput(words, launch.ranks).training.record.run_id, "run");
      }
    }
  }
}

}  // namespace
}  // namespace scalebench
