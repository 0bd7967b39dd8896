// SPDX-License-Identifier: Apache-2.0
// What is written as a study's config reads back as the same study.
#include "bench/study/plan/config.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "bench/study/plan/layouts.hpp"
#include "bench/study/plan/plan.hpp"
#include "kernels/testing.hpp"

namespace scalebench {
namespace {

constexpr const char* kText = R"([study]
seed = 0
ranks = [1, 2]
mpirun_arguments = ["--report-bindings", "with \"quotes\" and \\"]
[throughput]
models = ["mlp"]
batches_per_rank = [32, 64]
data = "synthetic"
[[epoch]]
model = "mlp"
[[epoch]]
model = "resnet20"
learning_rate = 0.1
)";

StudyConfig read_again(const StudyConfig& config) {
  return parse_study_config(config_text(config), "config.toml");
}

TEST(ConfigText, IsTheFilesWithWhatTheCommandLineChanged) {
  StudyConfig config = parse_study_config(kText, "full.toml", {.data = "images"});
  config.launches = 7;
  config.ranks = {1, 2, 4};
  config.hosts = "h1:4,h2:4";
  const StudyConfig read = read_again(config);
  EXPECT_EQ(config_text(read), config_text(config));
  EXPECT_EQ(read.name, "full");
  EXPECT_EQ(read.launches, 7);
  EXPECT_EQ(read.seed, 0U);
  EXPECT_EQ(read.ranks, config.ranks);
  EXPECT_EQ(read.hosts, config.hosts);
  EXPECT_EQ(read.mpirun_arguments, config.mpirun_arguments);
  EXPECT_EQ(read.throughput->batches_per_rank, config.throughput->batches_per_rank);
  EXPECT_EQ(read.throughput->data, "synthetic");
  ASSERT_EQ(read.epochs.size(), 2U);
  EXPECT_EQ(read.epochs[0].data, "images") << "of the job";
  EXPECT_EQ(read.epochs[1].learning_rate, 0.1);
}

TEST(ConfigText, HasLayoutsInsteadOfRanks) {
  StudyConfig config = parse_study_config(kText, "full.toml");
  config.ranks.clear();
  config.layouts = parse_layouts("1x1,2x4");
  const StudyConfig read = read_again(config);
  EXPECT_EQ(read.layouts, config.layouts);
  EXPECT_TRUE(read.ranks.empty());
}

}  // namespace

// Recorded steps as the model of a study: found, called in rows, planned, and refused.

namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;

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

// What a study file may say, and the exact line for everything that it may not.

namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

StudyConfig read(std::string_view text) {
  return parse_study_config(std::string(text), "a_study.toml");
}

std::string refusal(std::string_view text) {
  return message_of<UsageError>([&] { parse_study_config(std::string(text), "bad.toml"); });
}

constexpr std::string_view kEpoch = "[[epoch]]\nmodel = \"mlp\"\n";

/// The refusal of one more line in an epoch, whose place is then line 3.
std::string epoch_refusal(const std::string& line) {
  return refusal(std::string(kEpoch) + line + "\n");
}

TEST(StudyConfig, ReadsEveryKey) {
  const StudyConfig config = read(R"(
[study]
name = "whole"
launches = 7
seed = 42
threads = 2
device = "cpu"
ranks = [1, 2, 4]
mpirun_arguments = ["--mca", "btl"]
[allreduce]
algorithms = ["ring", "native"]
dtypes = ["float", "half"]
transport = "mpi"
min = "8"
max = "1MiB"
factor = 2
cache = "cold"
max_seconds = 0.5
[throughput]
models = ["mlp", "resnet20"]
data = "synthetic"
batch_per_rank = 32
max_seconds = 2
[[epoch]]
model = "mlp"
gradient_syncs = ["mirrored"]
allreduce = "native"
transport = "mpi"
scaling = "weak"
data = "synthetic:600"
batch_per_rank = 16
samples = 320
epochs = 3
evaluate = false
plain_loop = false
split_compute = true
optimizer = "sgd"
learning_rate = 0.1
[[epoch]]
model = "resnet20"
target_accuracy = 0.91
)");
  EXPECT_EQ(config.name, "whole");
  EXPECT_EQ(config.launches, 7);
  EXPECT_EQ(config.seed, 42U);
  EXPECT_EQ(config.threads, 2);
  EXPECT_EQ(config.device, "cpu");
  EXPECT_THAT(config.ranks, ElementsAre(1, 2, 4));
  EXPECT_THAT(config.mpirun_arguments, ElementsAre("--mca", "btl"));
  ASSERT_TRUE(config.allreduce && config.throughput);
  EXPECT_THAT(config.allreduce->algorithms, ElementsAre("ring", "native"));
  EXPECT_THAT(config.allreduce->dtypes, ElementsAre("float", "half"));
  EXPECT_EQ(config.allreduce->min_bytes, "8");
  EXPECT_EQ(config.allreduce->factor, 2);
  EXPECT_EQ(config.allreduce->cache, "cold");
  EXPECT_EQ(config.allreduce->max_seconds, 0.5);
  EXPECT_THAT(config.throughput->models, ElementsAre("mlp", "resnet20"));
  EXPECT_EQ(config.throughput->batch_per_rank, 32);
  EXPECT_EQ(config.throughput->max_seconds, 2) << "a whole number is a number";
  ASSERT_EQ(config.epochs.size(), 2U);
  EXPECT_EQ(config.epochs[0].scaling, "weak");
  EXPECT_EQ(config.epochs[0].samples, 320);
  EXPECT_EQ(config.epochs[0].epochs, 3);
  EXPECT_FALSE(config.epochs[0].evaluate);
  EXPECT_FALSE(config.epochs[0].plain_loop);
  EXPECT_TRUE(config.epochs[0].split_compute);
  EXPECT_EQ(config.epochs[0].optimizer, "sgd");
  EXPECT_EQ(config.epochs[0].learning_rate, 0.1);
  EXPECT_EQ(config.epochs[1].model, "resnet20");
  EXPECT_EQ(config.epochs[1].target_accuracy, 0.91);
  EXPECT_THAT(config.text, HasSubstr("name = \"whole\"")) << "the manifest shows the file itself";
}

TEST(StudyConfig, HasDefaultsAndTheNameOfItsFile) {
  const StudyConfig config = read(kEpoch);
  EXPECT_EQ(config.name, "a_study");
  EXPECT_EQ(config.launches, 6);
  EXPECT_TRUE(config.ranks.empty());
  EXPECT_FALSE(config.allreduce);
  EXPECT_THAT(config.epochs.at(0).gradient_syncs, ElementsAre("mirrored"));
  EXPECT_TRUE(read("[allreduce]\n").allreduce) << "an empty part takes all defaults";
}

TEST(StudyConfig, RefusesATargetThatCannotBeReached) {
  const std::string study = "[[epoch]]\nmodel = \"mlp\"\ntarget_accuracy = ";
  EXPECT_THAT(refusal(study + "91\n"), HasSubstr("bad.toml:3:"));
  EXPECT_THAT(refusal(study + "91\n"), HasSubstr("up to 1"));
  EXPECT_THAT(refusal(study + "0.9\nevaluate = false\n"), HasSubstr("evaluate = false"));
}

TEST(StudyConfig, MonitorsUnlessToldNotTo) {
  EXPECT_TRUE(read(kEpoch).monitor);
  EXPECT_FALSE(read(fmt::format("{}[study]\nmonitor = false\n", kEpoch)).monitor);
}

TEST(StudyConfig, RefusesMalformedTomlWithItsPlace) {
  EXPECT_THAT(refusal("[study]\nlaunches = \n"), StartsWith("bad.toml:2:"));
  EXPECT_THAT(refusal("[study]\nmpirun_arguments = [\"--host\", \"a\"]\n"),
              HasSubstr("mpirun_arguments name hosts"));
  EXPECT_THAT(refusal("[study\n"), StartsWith("bad.toml:1:"));
  EXPECT_THAT(refusal("[study]\nname = \"open\n"), StartsWith("bad.toml:2:"));
}

TEST(StudyConfig, RefusesADuplicateKeyWithItsPlace) {
  const std::string message = refusal(fmt::format("{}{}", "[study]\nseed = 1\nseed = 2\n", kEpoch));
  EXPECT_THAT(message, StartsWith("bad.toml:3:"));
  EXPECT_THAT(message, HasSubstr("seed"));
}

TEST(StudyConfig, ReadsWhatEditorsAddAndRefusesAnotherEncoding) {
  const std::string text = fmt::format("[study]\r\nseed = 1_000\r\n{}", kEpoch);
  EXPECT_EQ(parse_study_config("\xef\xbb\xbf" + text, "mark.toml").seed, 1000U)
      << "TOML's own way to write a thousand";
  EXPECT_THAT(refusal("\xff\xfe[\0s\0"), StartsWith("bad.toml:1:"));
  EXPECT_THAT(refusal("[study]\nname = \"caf\xe9\"\n"), StartsWith("bad.toml:2:"));
}

TEST(StudyConfig, RefusesAnUnknownKeyWithTheNearest) {
  EXPECT_EQ(refusal("[throughput]\nmodels = [\"mlp\"]\nstepz = 3\n"),
            "bad.toml:3:1: unknown key 'stepz'; valid: models, data, batch_per_rank, "
            "batches_per_rank, precisions, channels_last, steps, "
            "max_seconds (did you mean 'steps'?)");
  EXPECT_THAT(epoch_refusal("scalling = \"weak\""),
              AllOf(StartsWith("bad.toml:3:1: unknown key 'scalling'; valid: model, "),
                    EndsWith("(did you mean 'scaling'?)")));
  EXPECT_EQ(refusal(fmt::format("{}{}", "[alreduce]\n", kEpoch)),
            "bad.toml:1:2: unknown key 'alreduce'; valid: study, allreduce, throughput, epoch "
            "(did you mean 'allreduce'?)");
}

TEST(StudyConfig, ThroughputTakesListsAsTheProgramDoes) {
  const ThroughputStudy study = *read(R"(
[throughput]
models = ["mlp"]
batches_per_rank = [32, 64]
precisions = ["float32", "bfloat16"]
channels_last = "both"
steps = ["eager", "graph", "fused"]
)")
                                     .throughput;
  EXPECT_THAT(study.batches_per_rank, ElementsAre(32, 64));
  EXPECT_THAT(study.precisions, ElementsAre("float32", "bfloat16"));
  EXPECT_EQ(study.channels_last, "both");
  EXPECT_THAT(study.steps, ElementsAre("eager", "graph", "fused"));
  const std::string models = "[throughput]\nmodels = [\"mlp\"]\n";
  EXPECT_EQ(
      refusal(models + "batches_per_rank = [32, \"all\"]\n"),
      "bad.toml:3:20: batches_per_rank: expected a list of whole numbers from 1 to 1000000000");
  EXPECT_EQ(refusal(models + "batch_per_rank = 3\nbatches_per_rank = [32]\n"),
            "bad.toml:3:18: batch_per_rank: batches_per_rank lists them; leave one of the two out");
  EXPECT_THAT(refusal(models + "precisions = [\"fp61\"]\n"), HasSubstr("did you mean 'fp16'?"));
}

TEST(StudyConfig, RegistersWithNccl) {
  const StudyConfig config = read("[allreduce]\ntransport = \"nccl\"\nregister = [0, 2]\n");
  EXPECT_THAT(config.allreduce->registrations, ElementsAre(0, 2));
  EXPECT_EQ(argument_of(plan_of(config, {.devices = 2}).front(), "--register"), "0,2");
  EXPECT_THAT(refusal("[allreduce]\ntransport = \"mpi\"\nregister = [2]\n"),
              StartsWith("bad.toml:3:12: register: "));
  EXPECT_THAT(refusal("[allreduce]\nregister = [3]\n"), HasSubstr("from 0 to 2"));
}

TEST(StudyConfig, TakesNcclOverNcclAlone) {
  EXPECT_THAT(epoch_refusal("transport = \"mpi\"\nallreduce = \"nccl\""), HasSubstr("needs"));
}

TEST(StudyConfig, RefusesAWrongType) {
  EXPECT_EQ(epoch_refusal("data = 7"), "bad.toml:3:8: data: expected a text in quotes");
  EXPECT_EQ(epoch_refusal("scaling = true"), "bad.toml:3:11: scaling: expected a text in quotes");
  EXPECT_EQ(epoch_refusal("epochs = \"3\""),
            "bad.toml:3:10: epochs: expected a whole number from 1 to 100000");
  EXPECT_EQ(epoch_refusal("epochs = 1.5"),
            "bad.toml:3:10: epochs: expected a whole number from 1 to 100000");
  EXPECT_EQ(epoch_refusal("gradient_syncs = \"mirrored\""),
            "bad.toml:3:18: gradient_syncs: expected a list of texts, as [\"a\", \"b\"]");
  EXPECT_EQ(epoch_refusal("gradient_syncs = []"),
            "bad.toml:3:18: gradient_syncs: expected a list of texts, as [\"a\", \"b\"]");
  EXPECT_EQ(epoch_refusal("evaluate = 1"), "bad.toml:3:12: evaluate: expected true or false");
  EXPECT_EQ(epoch_refusal("learning_rate = \"0.1\""),
            "bad.toml:3:17: learning_rate: expected a positive number");
}

TEST(StudyConfig, RefusesAnImpossibleValue) {
  EXPECT_EQ(epoch_refusal("global_batch = 0"),
            "bad.toml:3:16: global_batch: expected a whole number from 1 to 1000000000");
  EXPECT_EQ(epoch_refusal("learning_rate = -0.1"),
            "bad.toml:3:17: learning_rate: expected a positive number");
  EXPECT_EQ(epoch_refusal("learning_rate = nan"),
            "bad.toml:3:17: learning_rate: expected a positive number");
  EXPECT_EQ(
      epoch_refusal("scaling = \"storng\""),
      "bad.toml:3:11: unknown scaling 'storng'; valid: strong, weak (did you mean 'strong'?)");
  EXPECT_THAT(epoch_refusal("scaling = \"weak\""),
              AllOf(HasSubstr("bad.toml:3:11: scaling: "), HasSubstr("valid: samples = ")))
      << "it would be the same images for every N";
  EXPECT_EQ(epoch_refusal("batch_per_rank = 8"),
            "bad.toml:3:18: batch_per_rank: strong scaling takes global_batch");
  EXPECT_EQ(epoch_refusal("scaling = \"weak\"\nsamples = 16\nglobal_batch = 8"),
            "bad.toml:5:16: global_batch: weak scaling takes batch_per_rank");
  const std::string study = fmt::format("\n{}", kEpoch);
  EXPECT_EQ(refusal(fmt::format("{}{}", "[study]\nlaunches = 0", study)),
            "bad.toml:2:12: launches: expected a whole number from 1 to 1000");
  EXPECT_EQ(refusal(fmt::format("{}{}", "[study]\nseed = -1", study)),
            "bad.toml:2:8: seed: expected a whole number from 0 to 9223372036854775807");
  EXPECT_EQ(refusal(fmt::format("{}{}", "[study]\nranks = [1, 0]", study)),
            "bad.toml:2:9: ranks: expected a list of whole numbers from 1 to 65536");
  EXPECT_EQ(refusal(fmt::format("{}{}", "[study]\nranks = []", study)),
            "bad.toml:2:9: ranks: expected a list of whole numbers from 1 to 65536");
  EXPECT_EQ(refusal(fmt::format("{}{}", "[study]\nranks = [1, \"2\"]", study)),
            "bad.toml:2:9: ranks: expected a list of whole numbers from 1 to 65536");
}

TEST(StudyConfig, SaysWhichGpusAndWhetherTheyAreShared) {
  const auto study = [](std::string_view keys) {
    return fmt::format("[study]\n{}\n{}", keys, kEpoch);
  };
  const StudyConfig config = read(study("devices = \"2,0\"\nshare_devices = true\nranks = [1, 4]"));
  EXPECT_EQ(config.devices, "2,0");
  EXPECT_TRUE(config.share_devices);
  EXPECT_THAT(config_text(config),
              AllOf(HasSubstr("devices = "), HasSubstr("share_devices = true")));
  EXPECT_THAT(refusal(study("share_devices = true")), HasSubstr("name the ranks"));
  EXPECT_THAT(refusal(study("device = \"cpu\"\ndevices = \"0\"")), HasSubstr("about GPUs"));
}

TEST(StudyConfig, RefusesAPartThatIsNoTable) {
  EXPECT_EQ(refusal(fmt::format("{}{}", "allreduce = 3\n", kEpoch)),
            "bad.toml:1:13: allreduce: expected a table, as [allreduce]");
  EXPECT_THAT(refusal("[epoch]\nmodel = \"mlp\"\n"),
              StartsWith("bad.toml:1:1: epoch: expected tables, as [[epoch]]"));
}

TEST(StudyConfig, RefusesAPartWithoutWhatItMeasures) {
  EXPECT_EQ(refusal("[[epoch]]\nglobal_batch = 4\n"), "bad.toml:1:1: model is missing");
  EXPECT_EQ(refusal("[throughput]\nbatch_per_rank = 4\n"), "bad.toml:1:1: models is missing");
}

TEST(StudyConfig, RefusesNamesThatNoProgramKnows) {
  EXPECT_EQ(refusal("[allreduce]\nalgorithms = [\"all\"]\ndtypes = [\"half\"]\n"), "");
  EXPECT_THAT(refusal("[allreduce]\nalgorithms = [\"ring\", \"nativ\"]\n"),
              AllOf(StartsWith("bad.toml:2:23: unknown algorithms 'nativ'; valid: naive, ring, "),
                    EndsWith(", all (did you mean 'native'?)")));
  EXPECT_THAT(refusal("[[epoch]]\nmodel = \"mpl\"\ngradient_syncs = [\"miror\"]\n"),
              AllOf(StartsWith("bad.toml:2:9: unknown model 'mpl'; valid: mlp, mnist_cnn, "),
                    HasSubstr("\nbad.toml:3:19: unknown gradient_syncs 'miror'; valid: none, "),
                    EndsWith("(did you mean 'mirrored'?)")));
}

TEST(StudyConfig, RefusesAStudyOfNothing) {
  const std::string nothing =
      "bad.toml:1:1: measures nothing; valid: [allreduce], [throughput], [[epoch]]";
  EXPECT_EQ(refusal(""), nothing);
  EXPECT_EQ(refusal("[study]\nname = \"idle\"\n"), nothing);
}

TEST(StudyConfig, CollectsEverythingWrongInTheOrderOfTheFile) {
  std::istringstream lines(refusal(R"([study]
launches = "five"
sead = 3
[throughput]
models = ["mlp"]
batch_per_rank = -1
[[epoch]]
global_batch = 64
scaling = "weka"
)"));
  std::vector<std::string> complaints;
  for (std::string line; std::getline(lines, line);) complaints.push_back(line);
  EXPECT_THAT(complaints,
              ElementsAre(StartsWith("bad.toml:2:12: launches: expected a whole"),
                          StartsWith("bad.toml:3:1: unknown key 'sead'; valid: name, "),
                          StartsWith("bad.toml:6:18: batch_per_rank: expected a whole number"),
                          "bad.toml:7:1: model is missing",
                          StartsWith("bad.toml:9:11: unknown scaling 'weka'; valid: ")));
}

TEST(StudyConfig, ReadsLayoutsInsteadOfRanks) {
  const StudyConfig config =
      read("[study]\nlayouts = [\"1x1\", \"2x4\"]\nhosts = \"a:4,b:4\"\n[allreduce]\n");
  EXPECT_EQ(config.layouts, parse_layouts("1x1,2x4"));
  EXPECT_EQ(config.hosts, "a:4,b:4");
  EXPECT_THAT(refusal("[study]\nlayouts = [\"2by4\"]\n[allreduce]\n"),
              HasSubstr("bad.toml:2:11: layouts: '2by4' is no layout"));
  EXPECT_THAT(refusal("[study]\nranks = [2]\nlayouts = [\"1x2\"]\n[allreduce]\n"),
              HasSubstr("stand instead of ranks"));
}

}  // namespace

}  // namespace scalebench
