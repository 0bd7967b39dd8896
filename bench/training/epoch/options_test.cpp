// SPDX-License-Identifier: Apache-2.0
// What the training programs refuse, in one line that names it; and that they take what a study
// puts on their command lines.
#include "bench/training/epoch/options.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "bench/cli/testing.hpp"
#include "bench/launch/launcher.hpp"
#include "bench/study/plan/plan.hpp"
#include "bench/training/throughput/options.hpp"
#include "kernels/error.hpp"
#include "kernels/testing.hpp"
#include "models/gradients/gradient_sync.hpp"
#include "models/network/models.hpp"

namespace scalebench {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Words = std::vector<std::string>;

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
  EXPECT_THAT(epoch_refusal({"--precision", "fp61"}), HasSubstr("did you mean 'fp16'?"));
}

TEST(EpochOptions, RefuseAnUnknownInputWord) {
  EXPECT_THAT(epoch_refusal({"--epoch-rule", "sede"}), HasSubstr("did you mean 'seed'?"));
  EXPECT_THAT(epoch_refusal({"--lr-schedule", "resnt"}), HasSubstr("did you mean 'resnet'?"));
}

TEST(EpochOptions, TheSeedRuleNeedsWeakScalingAndAModelOfTheTextbook) {
  EXPECT_THAT(epoch_refusal({"--epoch-rule", "seed"}), HasSubstr("--scaling weak"));
  EXPECT_THAT(epoch_refusal({"--epoch-rule", "seed", "--scaling", "weak", "--model", "resnet20"}),
              HasSubstr("resnet20"));
  const EpochOptions options = epoch({"--epoch-rule", "seed", "--scaling", "weak"});
  EXPECT_EQ(options.training.trainer.epoch_rule, EpochRule::seed);
}

TEST(EpochOptions, GiveEachRankOfWeakScalingItsSamplesAndEachRoundItsSeed) {
  const TrainerOptions weak =
      epoch({"--scaling", "weak", "--samples", "100", "--seed", "5", "--round", "2"}, 4)
          .training.trainer;
  EXPECT_EQ(weak.samples_per_epoch, 400);
  EXPECT_EQ(weak.seed, 7U);
  EXPECT_EQ(epoch({"--samples", "100"}, 4).training.trainer.samples_per_epoch, 100);
}

TEST(EpochOptions, TakeWhatAnEpochReads) {
  const EpochOptions options = epoch({"--loader-threads", "2", "--lr-schedule", "resnet"});
  const TrainerOptions& trainer = options.training.trainer;
  EXPECT_EQ(trainer.loader_threads, 2);
  EXPECT_EQ(trainer.rate.schedule, RateSchedule::resnet);
  EXPECT_EQ(text_of_input(trainer), " loader_threads=2 lr_schedule=resnet");
  EXPECT_EQ(text_of_input(epoch({}).training.trainer), "") << "case ids of earlier runs stay";
}

TEST(EpochOptions, TellWhatMattersToEachGradientSync) {
  const GradientSyncOptions usual = epoch({}).training.trainer.sync;
  for (const GradientSyncInfo& sync : gradient_syncs()) {
    EXPECT_NO_THROW(text_of(sync.name, usual)) << sync.name << ": its line tells of no such option";
  }
  // Case ids of earlier runs hold these.
  EXPECT_EQ(text_of("mirrored", usual), "");
  EXPECT_EQ(text_of("bucketed_overlap", usual), "bucket_mb=25 progress=thread");
  EXPECT_EQ(text_of("horovod", usual), "fusion_mb=128 cycle_ms=1");
  EXPECT_EQ(text_of("ps_sync", usual), "servers=1");
  const auto changed = epoch({"--compression", "bfloat16"});
  EXPECT_EQ(text_of("mirrored", changed.training.trainer.sync), "wire=bfloat16");
  EXPECT_EQ(text_of("bucketed_overlap", changed.training.trainer.sync),
            "bucket_mb=25 progress=thread wire=bfloat16");
}

TEST(EpochOptions, RefuseWhatOnlyOtherGradientSyncsRead) {
  EXPECT_THAT(epoch_refusal({"--servers", "7"}), HasSubstr("expected ps_sync or ps_async"));
  for (const char* sync : {"none", "barrier_only", "one_device"}) {
    EXPECT_THAT(epoch_refusal({"--gradient-sync", sync, "--compression", "fp16"}, 1),
                AllOf(HasSubstr("--compression"), HasSubstr(sync), HasSubstr("sends nothing")));
    EXPECT_EQ(epoch_refusal({"--gradient-sync", sync, "--compression", "none"}, 1), "accepted");
  }
}

TEST(EpochOptions, RefuseAnImpossibleNumber) {
  for (const Words& words : {Words{"--epochs", "0"},
                             {"--epochs", "many"},
                             {"--warmup-steps", "-1"},
                             {"--lr", "-0.1"},
                             {"--lr", "nan"},
                             {"--global-batch", "-2"},
                             {"--lr-warmup", "-1"},
                             {"--loader-threads", "-1"}}) {
    EXPECT_NE(epoch_refusal(words), "accepted") << words[0] << " " << words[1];
  }
}

TEST(EpochOptions, RefuseABatchThatTheScalingChanges) {
  EXPECT_THAT(epoch_refusal({"--batch-per-rank", "32"}),
              AllOf(HasSubstr("--global-batch"), HasSubstr("--scaling weak")));
  EXPECT_THAT(epoch_refusal({"--scaling", "weak", "--global-batch", "32"}),
              AllOf(HasSubstr("--batch-per-rank"), HasSubstr("--scaling strong")));
  EXPECT_EQ(epoch_refusal({"--scaling", "weak", "--batch-per-rank", "32", "--samples", "64"}),
            "accepted");
}

TEST(EpochOptions, RefuseWeakScalingOfADataSetThatDoesNotGrow) {
  for (const int ranks : {1, 2}) {
    EXPECT_THAT(epoch_refusal({"--scaling", "weak", "--batch-per-rank", "32"}, ranks),
                AllOf(HasSubstr("--scaling weak"), HasSubstr("--samples")));
  }
  EXPECT_THAT(epoch_refusal({"--scaling", "weak", "--samples", "0"}), HasSubstr("--samples"));
  EXPECT_EQ(epoch_refusal({"--scaling", "weak", "--epoch-rule", "seed"}), "accepted");
}

TEST(EpochOptions, RefuseAGlobalBatchThatDoesNotDivide) {
  EXPECT_THAT(epoch_refusal({"--global-batch", "33"}),
              AllOf(HasSubstr("33"), HasSubstr("2 ranks"), HasSubstr("32 or 34")));
  EXPECT_EQ(epoch_refusal({"--global-batch", "33"}, 3), "accepted");
}

TEST(EpochOptions, DivideTheBatchByWorkers) {
  const Words servers{"--gradient-sync", "ps_sync", "--servers", "2"};
  const auto with = [](Words words, const Words& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  // Three workers of five ranks.
  EXPECT_EQ(epoch_refusal(with(servers, {"--global-batch", "33"}), 5), "accepted");
  EXPECT_THAT(epoch_refusal(with(servers, {"--global-batch", "35"}), 5), HasSubstr("33 or 36"));
  EXPECT_THAT(epoch_refusal(servers, 2),
              AllOf(HasSubstr("2 servers"), HasSubstr("expected 1 to 1")));
  const Words split{"--gradient-sync", "model_split", "--global-batch", "35"};
  EXPECT_THAT(epoch_refusal(split, 2), HasSubstr("4 micro-batches"));
  EXPECT_EQ(epoch_refusal(with(split, {"--micro-batches", "5"}), 2), "accepted");
  EXPECT_THAT(epoch_refusal({"--gradient-sync", "tpu"}),
              AllOf(HasSubstr("TPU"), HasSubstr("mirrored")));
}

TEST(EpochOptions, StrongScalingKeepsTheModelsBatchWhenNoneIsGiven) {
  const EpochOptions options = epoch({"--model", "mnist_cnn"});
  EXPECT_EQ(options.training.trainer.global_batch, model_named("mnist_cnn").batch);
  EXPECT_TRUE(options.evaluate);
  EXPECT_FALSE(epoch({"--no-evaluation"}).evaluate);
}

TEST(EpochOptions, RefuseCheckpointsThatMakeNoSense) {
  EXPECT_THAT(epoch_refusal({"--checkpoint", "c", "--checkpoint-every", "0"}),
              HasSubstr("--checkpoint-every 0"));
  EXPECT_THAT(epoch_refusal({"--checkpoint", "c", "--keep", "0"}), HasSubstr("--keep 0"));
  for (const char* option : {"--checkpoint", "--resume"}) {
    for (const char* apart : {"none", "barrier_only"}) {
      const Words words{option, "folder", "--gradient-sync", apart};
      EXPECT_THAT(epoch_refusal(words), AllOf(HasSubstr(apart), HasSubstr("2 ranks")));
      EXPECT_EQ(epoch_refusal(words, 1), "accepted");
    }
  }
}

TEST(EpochOptions, RefuseATargetThatCannotBeReached) {
  for (const char* target : {"0", "-0.5", "1.5", "91", "nan"}) {
    EXPECT_THAT(epoch_refusal({"--target-accuracy", target}), HasSubstr("--target-accuracy"));
  }
  EXPECT_THAT(epoch_refusal({"--target-accuracy", "0.9", "--no-evaluation"}),
              HasSubstr("--no-evaluation"));
  EXPECT_EQ(epoch({"--target-accuracy", "0.9"}).target_accuracy, 0.9);
}

TEST(EpochOptions, RefuseAMonitorWithoutAFolder) {
  EXPECT_THAT(epoch_refusal({"--monitor"}), HasSubstr("--out"));
  EXPECT_EQ(epoch_refusal({"--monitor", "--out", "folder"}), "accepted");
}

TEST(EpochOptions, RefuseWhatBelongsToAModuleBesideAName) {
  for (const Words& words :
       {Words{"--loss", "nll"}, {"--input-shape", "3,8,8"}, {"--classes", "3"}}) {
    EXPECT_THAT(epoch_refusal(words), AllOf(HasSubstr("mlp"), HasSubstr("TorchScript")));
  }
  EXPECT_THAT(epoch_refusal({"--model", "no/such.pt"}),
              AllOf(HasSubstr("no/such.pt"), HasSubstr("No such file")));
  EXPECT_THAT(epoch_refusal({"--input-shape", "3,8"}), HasSubstr("channels,height,width"));
}

TEST(EpochOptions, TakeAPrecision) {
  EXPECT_EQ(epoch({"--precision", "bfloat16"}).training.trainer.precision, Precision::bfloat16);
  EXPECT_EQ(epoch({}).training.trainer.precision, Precision::float32);
  EXPECT_TRUE(epoch({"--channels-last", "yes"}).training.trainer.channels_last);
}

TEST(EpochOptions, ATensorFlowNameIsTheAlgorithmOfRowsAndOfTraining) {
  const auto algorithm = [](const Words& words) {
    const EpochOptions options = epoch(words);
    EXPECT_EQ(options.training.trainer.allreduce->name, options.allreduce);
    return options.allreduce;
  };
  EXPECT_EQ(algorithm({"--allreduce", "hierarchical_copy"}), "hierarchical");
  EXPECT_EQ(algorithm({"--allreduce", "reduce_to_one"}), "naive");
  EXPECT_EQ(algorithm({"--allreduce", "nccl"}), "native");
  EXPECT_EQ(epoch({"--allreduce", "nccl"}).transport, "nccl");
  EXPECT_THAT(epoch_refusal({"--allreduce", "nccl", "--transport", "mpi"}),
              AllOf(HasSubstr("--allreduce nccl"), HasSubstr("--transport nccl")));
  EXPECT_EQ(algorithm({"--gradient-sync", "multi_worker", "--allreduce", "auto"}), "auto");
}

TEST(EpochOptions, ATimelineIsOnlyForThoseThatTellSomething) {
  EXPECT_EQ(epoch_refusal({"--timeline", "f", "--gradient-sync", "horovod"}), "accepted");
  EXPECT_THAT(epoch_refusal({"--timeline", "f", "--gradient-sync", "mirrored"}),
              AllOf(HasSubstr("mirrored"), HasSubstr("expected horovod")));
}

TEST(EpochOptions, RefuseDevicesThatAreNone) {
  for (const char* devices : {"0,x", "0,,1", "0;1", "0,", ",1", "1 2"}) {
    EXPECT_THAT(epoch_refusal({"--devices", devices}), HasSubstr("such as 0,2")) << devices;
  }
  EXPECT_THAT(epoch_refusal({"--devices", "1,0,1"}), HasSubstr("device 1 is named twice"));
  EXPECT_THAT(epoch_refusal({"--devices", "0", "--device", "cpu"}), HasSubstr("--device cpu"));
  EXPECT_EQ(epoch_refusal({"--devices", "2,0"}), "accepted");
  EXPECT_THAT(epoch_refusal({"--share-devices", "--device", "cpu"}), HasSubstr("--share-devices"));
}

TEST(EpochOptions, TakeFaultsAndAShare) {
  const EpochOptions options = epoch({"--inject", "sleep=0.25:1", "--inject", "delay=0.5",
                                      "--inject", "throttle=1e-3", "--inject", "drift=-50.5:1"},
                                     2);
  const Faults& faults = options.training.trainer.faults;
  EXPECT_EQ(faults.sleep_rank, 1);
  EXPECT_EQ(faults.sleep_seconds, 0.25);
  EXPECT_EQ(faults.delay_collective_seconds, 0.5);
  EXPECT_EQ(faults.throttle_input_seconds, 1e-3);
  EXPECT_EQ(options.injections.amount(Injected::drift), -50.5);
  EXPECT_EQ(epoch({"--share-of", "4"}, 1).training.trainer.share_of, 4);
  EXPECT_EQ(epoch({"-T", "7"}, 1).timeout_seconds, 7);
  for (const Words& words :
       {Words{"--inject", "sleep=1"}, {"--inject", "hang:1"}, {"--share-of", "0"}, {"-T", "-1"}}) {
    EXPECT_NE(epoch_refusal(words, 2), "accepted") << words[0] << " " << words[1];
  }
  EXPECT_THAT(epoch_refusal({"--global-batch", "33", "--share-of", "2"}, 1), HasSubstr("33"));
  for (const char* served : {"ps_sync", "ps_async"}) {
    const Words words{"--gradient-sync", served, "--inject"};
    const auto of = [&](const char* fault) { return Words{words[0], words[1], words[2], fault}; };
    EXPECT_EQ(epoch_refusal(of("sleep=1:1"), 3), "accepted");
    EXPECT_THAT(epoch_refusal(of("sleep=1:2"), 3), HasSubstr("expected 0 to 1"));
  }
  EXPECT_EQ(epoch_refusal({"--gradient-sync", "model_split", "--inject", "sleep=1:1"}, 2),
            "accepted");
}

TEST(EpochOptions, RefuseNumbersWhoseProductsAreTooLarge) {
  EXPECT_THAT(epoch_refusal({"--scaling", "weak", "--batch-per-rank", "4611686018427387905",
                             "--samples", "100"}),
              HasSubstr("of each of 2 workers: expected at most 500000000"));
  EXPECT_THAT(epoch_refusal({"--scaling", "weak", "--samples", "4611686018427387905"}),
              HasSubstr("expected 0 to 500000000000"));
  EXPECT_THAT(epoch_refusal({"--share-of", "1500000000"}), HasSubstr("at most 500000000"));
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
                             {"--batch-per-rank", "-1"},
                             {"-n", "1.5"}}) {
    EXPECT_NE(throughput_refusal(words), "accepted") << words[0] << " " << words[1];
  }
}

TEST(ThroughputOptions, TakeAListOfBatches) {
  EXPECT_THAT(throughput({}).batches, testing::ElementsAre(0));
  EXPECT_THAT(throughput({"--batch-per-rank", "16,32,64"}).batches,
              testing::ElementsAre(16, 32, 64));
  EXPECT_NE(throughput_refusal({"--batch-per-rank", "16,x"}), "accepted");
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
  if (scaling == "weak") one.samples = 1000;
  one.optimizer = optimizer;
  one.evaluate = scaling == "strong";
  one.target_accuracy = one.evaluate ? 0.9 : 0;
  config.monitor = one.evaluate;
  one.split_compute = true;
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
        const bool evaluates = launch.gradient_sync != "barrier_only";
        EXPECT_EQ(options.target_accuracy, evaluates ? config.epochs[0].target_accuracy : 0);
        EXPECT_EQ(options.training.monitor, config.monitor);
      } else {
        EXPECT_EQ(throughput(words, launch.ranks).training.record.run_id, "run");
      }
    }
  }
}

TEST(EpochOptions, AManagedJobGivesDefaults) {
  setenv("SM_CHANNEL_TRAINING", "synthetic:64", 1);
  setenv("SM_MODEL_DIR", "/opt/ml/model", 1);
  EXPECT_EQ(epoch({}, 1).training.trainer.dataset, "synthetic:64");
  EXPECT_EQ(epoch({"--data", "synthetic"}, 1).training.trainer.dataset, "synthetic");
  EXPECT_EQ(epoch({}, 1).checkpoints.folder, "/opt/ml/model");
  EXPECT_EQ(epoch({"--checkpoint", "mine"}, 1).checkpoints.folder, "mine");
  EXPECT_EQ(epoch({"--run-id", "study"}, 1).checkpoints.folder, "") << "a study keeps no model";
  for (const char* apart : {"none", "barrier_only"}) {
    EXPECT_EQ(epoch({"--gradient-sync", apart}).checkpoints.folder, "") << "no common model";
  }
  unsetenv("SM_CHANNEL_TRAINING");
  unsetenv("SM_MODEL_DIR");
}

TEST(EpochOptions, RefuseToRecordWhatIsNoStepOfOneDevice) {
  const auto refusal_of = [](Words words, int ranks) {
    words.insert(words.end(), {"--record-trace", "t.json"});
    return epoch_refusal(words, ranks);
  };
  EXPECT_EQ(refusal_of({}, 1), "accepted");
  EXPECT_THAT(refusal_of({}, 2), HasSubstr("--record-trace: 2 ranks; expected one rank"));
  EXPECT_THAT(refusal_of({"--accumulate", "2"}, 1), HasSubstr("accumulated passes"));
  EXPECT_THAT(refusal_of({"--gradient-sync", "model_split"}, 1), HasSubstr("model_split"));
}

}  // namespace

}  // namespace scalebench
