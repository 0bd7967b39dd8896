// SPDX-License-Identifier: Apache-2.0
#include "bench/machine/managed_job.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "kernels/testing.hpp"

namespace scalebench {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const EnvironmentVariables kJob{{"SM_CHANNEL_TRAINING", "/opt/ml/input/data/training"},
                                {"SM_CHANNEL_VALIDATION", "/opt/ml/input/data/validation"},
                                {"SM_OUTPUT_DATA_DIR", "/opt/ml/output/data"},
                                {"SM_MODEL_DIR", "/opt/ml/model"}};

TEST(ManagedJob, ReadsFolders) {
  const auto job = managed_job(kJob);
  ASSERT_TRUE(job);
  EXPECT_EQ(job->data->value, "/opt/ml/input/data/training");
  EXPECT_EQ(job->data->variable, "SM_CHANNEL_TRAINING");
  EXPECT_EQ(job->results->value, "/opt/ml/output/data");
  EXPECT_EQ(job->model->value, "/opt/ml/model");
  EXPECT_THAT(describe(*job), AllOf(HasSubstr("results /opt/ml/output/data (SM_OUTPUT_DATA_DIR)"),
                                    Not(HasSubstr("\n"))));
}

TEST(ManagedJob, OutsideOfOneThereIsNone) {
  EXPECT_FALSE(managed_job({}));
  EXPECT_FALSE(managed_job({{"SM_NUM_GPUS", "x"}})) << "another program's";
}

TEST(ManagedJob, DoesNotGuessWhichChannelIsForTraining) {
  EXPECT_EQ(job_folders({{"SM_CHANNEL_IMAGES", "/a"}}).data->variable, "SM_CHANNEL_IMAGES");
  EXPECT_EQ(job_folders({{"SM_CHANNEL_TRAIN", "/a"}, {"SM_CHANNEL_TEST", "/b"}}).data->value, "/a");
  EXPECT_FALSE(job_folders({{"SM_CHANNEL_ONE", "/a"}, {"SM_CHANNEL_TWO", "/b"}}).data);
}

TEST(ManagedJob, SaysWhichFoldersATrainingTookFromIt) {
  const ManagedJob job = job_folders(kJob);
  EXPECT_EQ(describe_used(job, "fashion-mnist", "/elsewhere"), "");
  EXPECT_EQ(describe_used(job, "fashion-mnist", "/opt/ml/model"),
            "managed job: checkpoints /opt/ml/model (SM_MODEL_DIR)");
}

TEST(ManagedJob, TimeSinceTheContainerBegan) {
  const TemporaryFolder folder;
  EXPECT_FALSE(container_seconds(folder.path())) << "unknown is not 0";
  const long ticks = sysconf(_SC_CLK_TCK);
  folder.write("proc/uptime", "1000.50 7.00\n");
  folder.write(
      "proc/1/stat",
      fmt::format("1 (a) b) c) S 0 1 1 0 -1 4 1 1 1 1 1 1 1 1 20 0 1 0 {} 9 9\n", 900 * ticks));
  EXPECT_DOUBLE_EQ(container_seconds(folder.path()).value(), 100.5);
}

}  // namespace
}  // namespace scalebench
