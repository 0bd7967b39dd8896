// SPDX-License-Identifier: Apache-2.0
#include "bench/machine/managed_job.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "kernels/testing.hpp"

namespace scalebench {
namespace {

using testing::ElementsAre;
using testing::Pair;

const EnvironmentVariables kJob{{"SM_CHANNEL_TRAINING", "/opt/ml/input/data/training"},
                                {"SM_CHANNEL_VALIDATION", "/opt/ml/input/data/validation"},
                                {"SM_OUTPUT_DATA_DIR", "/opt/ml/output/data"},
                                {"SM_MODEL_DIR", "/opt/ml/model"}};

TEST(ManagedJob, NamesFolders) {
  ASSERT_TRUE(in_managed_job(kJob));
  JobFolders job = job_folders(kJob);
  EXPECT_EQ(describe(job),
            "managed job: checkpoints /opt/ml/model; data /opt/ml/input/data/training; results "
            "/opt/ml/output/data");
  job.data.clear();
  job.checkpoints.clear();
  EXPECT_THAT(job.named(), ElementsAre(Pair("results", "/opt/ml/output/data")));
  EXPECT_EQ(describe(JobFolders()), "managed job: none of its folders is used");
}

TEST(ManagedJob, OutsideOfOneThereIsNone) {
  EXPECT_FALSE(in_managed_job({}));
  EXPECT_FALSE(in_managed_job({{"SM_NUM_GPUS", "x"}})) << "another program's";
  EXPECT_TRUE(in_managed_job({{"SM_HOSTS", "[]"}})) << "without any folder";
}

TEST(ManagedJob, DoesNotGuessWhichChannelIsForTraining) {
  EXPECT_EQ(job_folders({{"SM_CHANNEL_IMAGES", "/a"}}).data, "/a");
  EXPECT_EQ(job_folders({{"SM_CHANNEL_TRAIN", "/a"}, {"SM_CHANNEL_TEST", "/b"}}).data, "/a");
  EXPECT_EQ(job_folders({{"SM_CHANNEL_ONE", "/a"}, {"SM_CHANNEL_TWO", "/b"}}).data, "");
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
