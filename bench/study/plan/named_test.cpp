// SPDX-License-Identifier: Apache-2.0
// What a config asks for by name that cannot be: refused where it stands, or skipped with the
// reason where it is a matter of N or of this machine.
#include "bench/study/plan/named.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "bench/study/plan/plan.hpp"
#include "kernels/testing.hpp"

namespace scalebench::named_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kEpoch = "[[epoch]]\nmodel = \"mlp\"\n";

StudyConfig read(const std::string& text, const Whereabouts& where = {}) {
  return parse_study_config(text, "a.toml", where);
}

/// Empty: none.
std::string refusal_of(const std::string& text, const Whereabouts& where = {}) {
  try {
    read(text, where);
    return "";
  } catch (const UsageError& error) {
    return error.what();
  }
}

/// Of one [[epoch]] with these lines.
std::string refusal(const std::string& lines, const Whereabouts& where = {}) {
  return refusal_of(kEpoch + lines, where);
}

TEST(Config, RefusesAGradientSyncThatNothingRuns) {
  EXPECT_THAT(refusal("gradient_syncs = [\"mirrored\", \"tpu\"]"),
              AllOf(StartsWith("a.toml:3:"), HasSubstr("no TPU runtime")));
}

TEST(Config, RefusesADataSetThatIsNotThere) {
  const TemporaryFolder folder;
  const Whereabouts here{.looks_here = true};
  const std::string missing = "data = \"" + (folder / "nope").string() + "\"";
  EXPECT_THAT(refusal(missing, here), AllOf(StartsWith("a.toml:3:"), HasSubstr("no folder here")));
  EXPECT_EQ(refusal(missing), "") << "it may be where the ranks are";
  EXPECT_EQ(refusal(missing + "\n[study]\nhosts = \"a:2,b:2\"", here), "");
  EXPECT_EQ(refusal("data = \"" + folder.path().string() + "\"", here), "");
  EXPECT_EQ(refusal("data = \"synthetic:600\"", here), "");
  EXPECT_THAT(refusal("data = \"synthetic:x\""), HasSubstr("a whole number N of at least 6"));
  EXPECT_THROW(read("[throughput]\nmodels = [\"mlp\"]\n" + missing, here), UsageError);
}

TEST(Config, RefusesABatchThatIsMoreThanTheDataSet) {
  const std::string few = "[throughput]\nmodels = [\"mlp\"]\ndata = \"synthetic:10\"\n";
  EXPECT_THAT(refusal_of(few + "batch_per_rank = 64"),
              AllOf(StartsWith("a.toml:4:"), HasSubstr("10 images are no step of 64")));
  EXPECT_THAT(refusal_of(few),
              AllOf(StartsWith("a.toml:3:"), HasSubstr("10 images are no step of 16")))
      << "the model's own batch";
  EXPECT_EQ(refusal_of(few + "batch_per_rank = 10"), "");
  EXPECT_EQ(refusal_of(few + "batches_per_rank = [8, 64]"), "") << "8 can be measured";
}

TEST(Config, RefusesAnEpochThatIsNoStepOrMoreThanTheDataSet) {
  EXPECT_THAT(refusal("samples = 100000\nglobal_batch = 256"),
              AllOf(StartsWith("a.toml:3:"), HasSubstr("100000 of the 60000 images")));
  EXPECT_THAT(refusal("samples = 10"),
              AllOf(StartsWith("a.toml:3:"), HasSubstr("10 images are no step of 16")))
      << "the model's own batch";
  EXPECT_THAT(refusal("data = \"synthetic:100\"\nglobal_batch = 128"),
              AllOf(StartsWith("a.toml:3:"), HasSubstr("100 images are no step of 128")));
  EXPECT_EQ(refusal("samples = 16"), "");
  EXPECT_EQ(refusal("samples = 60000"), "");
  EXPECT_EQ(refusal("data = \"images\"\nsamples = 100000"), "") << "a folder's are not counted";
  EXPECT_THAT(refusal("scaling = \"weak\"\nsamples = 32\nbatch_per_rank = 64"),
              HasSubstr("a smaller batch_per_rank"));
}

TEST(Config, RefusesAnAlgorithmThatTheTransportCannotCarry) {
  const std::string direct = "allreduce = \"direct\"\n";
  EXPECT_THAT(refusal(direct, {.on_cpus = true}),
              AllOf(StartsWith("a.toml:3:"), HasSubstr("valid: shared_memory, cuda_ipc"),
                    HasSubstr("auto is mpi on CPUs")));
  EXPECT_EQ(refusal(direct), "") << "GPUs may have cuda_ipc";
  EXPECT_THAT(refusal(direct + "[study]\ndevice = \"cpu\""), StartsWith("a.toml:3:"));
  EXPECT_EQ(refusal(direct + "[study]\nhosts = \"a:2\"", {.on_cpus = true}), "");
  EXPECT_THAT(refusal(direct + "transport = \"mpi\""), StartsWith("a.toml:4:"));
  EXPECT_EQ(refusal(direct + "transport = \"shared_memory\"", {.on_cpus = true}), "");
  EXPECT_THAT(refusal("allreduce = \"native\"\ntransport = \"shared_memory\""),
              HasSubstr("valid: mpi, nccl"));
  EXPECT_EQ(refusal(direct + "transport = \"mpi\"\ngradient_syncs = [\"zero1\"]"), "")
      << "which sends messages of its own";
}

TEST(Config, RefusesATransportOfGpusOnCpus) {
  const std::string cpu = "\n[study]\ndevice = \"cpu\"";
  EXPECT_THAT(refusal("transport = \"nccl\"" + cpu),
              AllOf(StartsWith("a.toml:3:"), HasSubstr("nccl is for GPUs")));
  EXPECT_THROW(read("[allreduce]\ntransport = \"cuda_ipc\"" + cpu), UsageError);
  EXPECT_EQ(refusal("transport = \"nccl\""), "");
}

/// The reasons of the launches that are skipped, by name.
std::string skipped(const std::string& text, const PlanLimits& limits) {
  std::string reasons;
  for (const PlannedLaunch& launch : plan_of(read("[study]\nlaunches = 1\n" + text), limits)) {
    if (launch.skipped_because.empty()) continue;
    reasons += launch.name + ": " + launch.skipped_because + "\n";
  }
  return reasons;
}

TEST(PlanOf, SkipsTransportsOfGpusWhereThereAreNone) {
  const std::string nccl = "[allreduce]\ntransport = \"nccl\"\n";
  const PlanLimits without{.devices = 2, .looks_here = true, .why_no_gpu = "no CUDA device"};
  EXPECT_EQ(skipped(nccl, without), "allreduce-n2: transport nccl: no CUDA device\n");
  EXPECT_EQ(skipped(nccl, {.devices = 2}), "");
  EXPECT_EQ(skipped("[allreduce]\ntransport = \"mpi\"", without), "");
  EXPECT_THAT(skipped(std::string(kEpoch) + "transport = \"nccl\"", without),
              HasSubstr("epoch-mlp-one_device-strong-n1: transport nccl: no CUDA device"));
}

TEST(PlanOf, SkipsTrainingsWithoutTheirDataSet) {
  const bool there = std::filesystem::is_directory(kFashionMnistFolder);
  EXPECT_EQ(why_not_installed("fashion-mnist").empty(), there);
  EXPECT_EQ(why_not_installed("synthetic"), "");
  const std::string all = std::string(kEpoch) + "[throughput]\nmodels = [\"mlp\"]\n[allreduce]";
  const std::string reasons = skipped(all, {.devices = 2, .looks_here = true});
  EXPECT_EQ(reasons.empty(), there);
  EXPECT_THAT(reasons, testing::Not(HasSubstr("allreduce-n2")));
  EXPECT_EQ(skipped(all, {.devices = 2}), "") << "other hosts may have it";
}

TEST(PlanOf, SkipsAlgorithmsThatNeedOneHostOnSeveral) {
  const PlanLimits two{.devices = 4, .hosts = parse_hosts("a:2,b:2", "--hosts")};
  const std::string reasons =
      skipped(std::string(kEpoch) + "allreduce = \"direct\"\ntransport = \"shared_memory\"", two);
  EXPECT_THAT(reasons, HasSubstr("those of 2 hosts cannot"));
  EXPECT_THAT(reasons, testing::Not(HasSubstr("1x2")));
}

TEST(PlanOf, SkipsWhatTheDataSetIsTooSmallFor) {
  const std::string weak = std::string(kEpoch) + "scaling = \"weak\"\nsamples = 30000";
  EXPECT_EQ(skipped(weak, {.devices = 2}), "");
  EXPECT_EQ(skipped(weak, {.devices = 4}),
            "epoch-mlp-mirrored-weak-n4: 30000 images of each of 4 ranks: fashion-mnist has "
            "60000\n");
}

}  // namespace
}  // namespace scalebench::named_test
