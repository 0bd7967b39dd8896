// SPDX-License-Identifier: Apache-2.0
#include "bench/machine/managed_job.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <nlohmann/json.hpp>

#include "kernels/error.hpp"
#include "kernels/testing.hpp"

namespace scalebench {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

const JobVariables kTwoHosts{{"SM_HOSTS", R"(["algo-2","algo-1"])"},
                             {"SM_CURRENT_HOST", "algo-1"},
                             {"SM_NUM_GPUS", "4"},
                             {"SM_CHANNEL_TRAINING", "/opt/ml/input/data/training"},
                             {"SM_CHANNEL_VALIDATION", "/opt/ml/input/data/validation"},
                             {"SM_OUTPUT_DATA_DIR", "/opt/ml/output/data"},
                             {"SM_MODEL_DIR", "/opt/ml/model"}};

JobVariables with(JobVariables variables, const std::string& name, const std::string& value) {
  variables[name] = value;
  return variables;
}

std::string refusal(const JobVariables& variables) {
  return message_of<UsageError>([&] { managed_job(variables); });
}

TEST(ManagedJob, ReadsHostsAndFolders) {
  const auto job = managed_job(kTwoHosts);
  ASSERT_TRUE(job);
  EXPECT_THAT(job->hosts, ElementsAre("algo-1", "algo-2"));
  EXPECT_EQ(job->gpus, 4);
  EXPECT_EQ(job->data->value, "/opt/ml/input/data/training");
  EXPECT_EQ(job->data->variable, "SM_CHANNEL_TRAINING");
  EXPECT_EQ(job->results->value, "/opt/ml/output/data");
  EXPECT_EQ(job->model->value, "/opt/ml/model");
  EXPECT_EQ(host_list(*job, 4), "algo-1:4,algo-2:4");
  EXPECT_THAT(describe(*job), AllOf(HasSubstr("2 host(s), this is algo-1 (SM_HOSTS"),
                                    HasSubstr("results /opt/ml/output/data (SM_OUTPUT_DATA_DIR)"),
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
  const ManagedJob job = job_folders(kTwoHosts);
  EXPECT_EQ(describe_used(job, "fashion-mnist", "/elsewhere"), "");
  EXPECT_EQ(describe_used(job, "fashion-mnist", "/opt/ml/model"),
            "managed job: checkpoints /opt/ml/model (SM_MODEL_DIR)");
}

TEST(ManagedJob, RefusesInOneLineThatNamesTheVariable) {
  for (const char* hosts :
       {"{}", "[]", "[1]", R"(["a,b"])", R"(["a:9"])", R"(["-x"])", R"(["a","a"])"}) {
    EXPECT_THAT(refusal(with(kTwoHosts, "SM_HOSTS", hosts)),
                AllOf(HasSubstr("SM_HOSTS: '"), HasSubstr("valid: "), Not(HasSubstr("\n"))))
        << hosts;
  }
  for (const char* hosts : {"[\"algo-1\"", "algo-1,algo-2"}) {
    EXPECT_THAT(refusal(with(kTwoHosts, "SM_HOSTS", hosts)),
                AllOf(HasSubstr("SM_HOSTS:1:"), HasSubstr("not JSON"), HasSubstr("valid: "),
                      Not(HasSubstr("\n"))))
        << hosts;
  }
  EXPECT_THAT(refusal(with(kTwoHosts, "SM_NUM_GPUS", "-1")), HasSubstr("SM_NUM_GPUS: '-1'"));
  EXPECT_THAT(refusal(with(kTwoHosts, "SM_NUM_GPUS", "4 ")), HasSubstr("SM_NUM_GPUS: '4 '"));
  EXPECT_THAT(refusal(with(kTwoHosts, "SM_CURRENT_HOST", "algo-3")),
              HasSubstr("SM_CURRENT_HOST: 'algo-3' is none of SM_HOSTS"));
}

TEST(ManagedJob, LooksAtNoOtherVariable) {
  const std::array<const char*, 6> environment{
      "SM_HOSTS=[\"algo-1\"]", "SM_USER_ARGS=canary", "AWS_SECRET_ACCESS_KEY=canary",
      "SM_HP_TOKEN=canary",    "SM_MODEL_DIR=",       nullptr};
  const JobVariables variables = job_variables(environment.data());
  EXPECT_EQ(variables, (JobVariables{{"SM_HOSTS", "[\"algo-1\"]"}}));
  EXPECT_THAT(json_of(*managed_job(variables)).dump(), Not(HasSubstr("canary")));
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
