// SPDX-License-Identifier: Apache-2.0
#include "bench/program/join/environments.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/error.hpp"

namespace scalebench {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

EnvironmentVariables with(EnvironmentVariables variables, const EnvironmentVariables& others) {
  for (const auto& [name, value] : others) {
    variables[name] = value;
    if (value.empty()) variables.erase(name);
  }
  return variables;
}

std::string refusal(const EnvironmentVariables& variables) {
  try {
    join_plan(variables);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

/// Rank 3 of 2 hosts with 2 ranks each.
EnvironmentVariables torchrun(const EnvironmentVariables& others = {}) {
  return with({{"RANK", "3"},
               {"WORLD_SIZE", "4"},
               {"LOCAL_RANK", "1"},
               {"LOCAL_WORLD_SIZE", "2"},
               {"MASTER_ADDR", "10.0.0.1"},
               {"MASTER_PORT", "29500"}},
              others);
}

TEST(Torchrun, EachProcessIsARank) {
  const auto plan = join_plan(torchrun());
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->size(), 4);
  EXPECT_EQ(plan->process, 3);
  EXPECT_FALSE(plan->is_first());
  EXPECT_FALSE(plan->is_agent);
  EXPECT_EQ(plan->slots, 2);
  EXPECT_EQ(plan->name(), "rank 3");
  EXPECT_EQ(plan->meeting, (Endpoint{"10.0.0.1", 29500}));
  EXPECT_TRUE(join_plan(torchrun({{"RANK", "2"}, {"LOCAL_RANK", "0"}}))->is_agent);
}

TEST(Torchrun, IsOnOneHostWhereAllRanksAreLocal) {
  EXPECT_FALSE(join_plan(torchrun())->is_on_one_host);
  EXPECT_FALSE(join_plan(torchrun({{"LOCAL_RANK", ""}, {"LOCAL_WORLD_SIZE", ""}}))->is_on_one_host);
  EXPECT_TRUE(
      join_plan(torchrun({{"LOCAL_RANK", "3"}, {"LOCAL_WORLD_SIZE", "4"}}))->is_on_one_host);
}

TEST(Torchrun, WithoutLocalRankAProcessHasItsHostForItself) {
  const auto plan = join_plan(torchrun({{"LOCAL_RANK", ""}, {"LOCAL_WORLD_SIZE", ""}}));
  EXPECT_TRUE(plan->is_agent);
  EXPECT_EQ(plan->slots, 1);
}

TEST(Torchrun, MeetsBesideThePortAtWhichTorchrunItselfListens) {
  EXPECT_EQ(join_plan(torchrun({{"TORCHELASTIC_USE_AGENT_STORE", "True"}}))->meeting.port, 29501);
  EXPECT_EQ(join_plan(torchrun({{"TORCHELASTIC_USE_AGENT_STORE", "False"}}))->meeting.port, 29500);
}

TEST(Torchrun, AJobIsItsAddressSizeAndRun) {
  const std::string job = join_plan(torchrun())->job;
  EXPECT_EQ(join_plan(torchrun({{"RANK", "1"}}))->job, job);
  for (const auto& [name, value] : {std::pair("MASTER_PORT", "29600"),
                                    {"WORLD_SIZE", "6"},
                                    {"TORCHELASTIC_RUN_ID", "7"},
                                    {"MASTER_ADDR", "h"},
                                    {"TORCHELASTIC_RESTART_COUNT", "1"}}) {
    EXPECT_NE(join_plan(torchrun({{name, value}}))->job, job) << name;
  }
}

TEST(Torchrun, IsNoJointStartAloneOrInParts) {
  EXPECT_FALSE(join_plan({}));
  EXPECT_FALSE(join_plan({{"RANK", "3"}}));
  EXPECT_FALSE(join_plan({{"WORLD_SIZE", "4"}}));
  EXPECT_FALSE(join_plan({{"RANK", "0"}, {"WORLD_SIZE", "1"}}));
}

TEST(Torchrun, ContradictionsNameTheVariable) {
  EXPECT_THAT(refusal(torchrun({{"RANK", "4"}})),
              AllOf(HasSubstr("RANK: '4'; valid: a number from 0 to 3"),
                    HasSubstr("WORLD_SIZE is 4"), Not(HasSubstr("\n"))));
  EXPECT_THAT(refusal(torchrun({{"RANK", "-1"}})), HasSubstr("RANK: '-1'"));
  EXPECT_THAT(refusal(torchrun({{"WORLD_SIZE", "4 "}})), HasSubstr("WORLD_SIZE: '4 '"));
  EXPECT_THAT(refusal(torchrun({{"LOCAL_RANK", "2"}})), HasSubstr("LOCAL_RANK: '2'"));
  EXPECT_THAT(refusal(torchrun({{"LOCAL_WORLD_SIZE", ""}})),
              HasSubstr("LOCAL_WORLD_SIZE is not set"));
  EXPECT_THAT(refusal(torchrun({{"RANK", "0"}})), HasSubstr("LOCAL_RANK: '1' is above RANK"));
  EXPECT_THAT(refusal(torchrun({{"MASTER_ADDR", ""}})), HasSubstr("MASTER_ADDR is not set"));
  EXPECT_THAT(refusal(torchrun({{"MASTER_PORT", ""}})), HasSubstr("MASTER_PORT is not set"));
  EXPECT_THAT(refusal(torchrun({{"MASTER_PORT", "70000"}})), HasSubstr("MASTER_PORT: '70000'"));
}

TEST(JoinPlan, IsNotForProcessesOfMpiNorForWhatAJointStartStarted) {
  for (const char* const name :
       {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "PMI_FD", kJoinedVariable}) {
    EXPECT_FALSE(join_plan(torchrun({{name, "0"}}))) << name;
  }
}

TEST(JoinPlan, TakesAwayWhatWouldMisleadRanks) {
  const auto names = misleading_variables(torchrun({{"TORCHELASTIC_RUN_ID", "a"},
                                                    {"SLURM_JOB_ID", "1"},
                                                    {"SM_MODEL_DIR", "/m"},
                                                    {"OMP_NUM_THREADS", "1"},
                                                    {"RANKING", "1"}}));
  EXPECT_THAT(names, ElementsAre("LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT",
                                 "RANK", "SLURM_JOB_ID", "TORCHELASTIC_RUN_ID", "WORLD_SIZE"));
}

std::string cluster(const std::string& task) {
  return R"({"cluster": {"ps": ["h3:2222"], "worker": ["h1:2222", "h2:2222"], "chief": ["h0:2222"]},
 "task": )" +
         task + "}";
}

std::optional<JoinPlan> of_config(const std::string& text) {
  return join_plan({{"TF_CONFIG", text}});
}

std::string config_refusal(const std::string& text) { return refusal({{"TF_CONFIG", text}}); }

TEST(TfConfig, RanksAreChiefWorkersAndServersLast) {
  const auto plan = of_config(cluster(R"({"type": "worker", "index": 1})"));
  ASSERT_TRUE(plan);
  EXPECT_THAT(plan->processes, ElementsAre("chief 0 (h0:2222)", "worker 0 (h1:2222)",
                                           "worker 1 (h2:2222)", "ps 0 (h3:2222)"));
  EXPECT_EQ(plan->process, 2);
  EXPECT_EQ(plan->host, "h2");
  EXPECT_TRUE(plan->is_agent);
  EXPECT_EQ(plan->meeting, (Endpoint{"h0", 2222}));
  EXPECT_THAT(plan->note,
              AllOf(HasSubstr("1 ps task(s) are the last of 4 ranks"), HasSubstr("--servers 1")));
  EXPECT_TRUE(of_config(cluster(R"({"type": "chief", "index": "0"})"))->is_first());
}

TEST(TfConfig, TasksOfOneHostAreItsRanks) {
  const std::string text =
      R"({"cluster": {"worker": ["a:1", "b:1", "b:2"]}, "task": {"type": "worker", "index": 2}})";
  const auto plan = of_config(text);
  EXPECT_EQ(plan->slots, 2);
  EXPECT_FALSE(plan->is_agent);
  EXPECT_EQ(plan->note, "");
  EXPECT_FALSE(plan->is_on_one_host);
  EXPECT_TRUE(
      of_config(
          R"({"cluster": {"worker": ["a:1", "a:2"]}, "task": {"type": "worker", "index": 1}})")
          ->is_on_one_host);
}

TEST(TfConfig, OneTaskOrNoClusterIsNoJointStart) {
  EXPECT_FALSE(of_config("{}"));
  EXPECT_FALSE(of_config(R"({"cluster": {}})"));
  EXPECT_FALSE(of_config(
      R"({"cluster": {"worker": ["a:1"], "evaluator": ["b:1"]}, "task": {"type": "worker", "index": 0}})"));
}

TEST(TfConfig, MalformedTextIsRefusedWithItsPlace) {
  EXPECT_THAT(
      config_refusal("{\"cluster\":\n {\"worker\" [\"a:1\"]}}"),
      AllOf(HasSubstr("TF_CONFIG:2:12: "), HasSubstr("valid: {\"cluster\""), Not(HasSubstr("\n"))));
  EXPECT_THAT(config_refusal("{"), HasSubstr("TF_CONFIG:1:2: "));
  EXPECT_THAT(config_refusal("{\"cluster\": 1e999}"), HasSubstr("overflow parsing '1e999'"));
  EXPECT_THAT(config_refusal("[]"), HasSubstr("is no object"));
}

TEST(TfConfig, AKeyThatStandsTwiceIsNamed) {
  EXPECT_THAT(
      config_refusal(
          R"({"cluster": {"worker": ["a:1"], "worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": 0}})"),
      AllOf(
          HasSubstr("TF_CONFIG:1:33: key 'worker' stands twice in one object; valid: {\"cluster\""),
          Not(HasSubstr("\n"))));
  EXPECT_THAT(config_refusal(cluster(R"({"type": "worker", "index": 0, "index": 1})")),
              HasSubstr("key 'index' stands twice"));
}

TEST(TfConfig, WhatDoesNotFitIsNamed) {
  const auto task = [](const std::string& words) { return config_refusal(cluster(words)); };
  EXPECT_THAT(task(R"({"type": "worker", "index": 2})"),
              HasSubstr("TF_CONFIG: task.index: 2 is outside cluster.worker; valid: 0 to 1"));
  EXPECT_THAT(task(R"({"type": "worker"})"), HasSubstr("task.index: missing"));
  EXPECT_THAT(task(R"({"type": "master", "index": 0})"),
              HasSubstr("'master' is not in the cluster"));
  EXPECT_THAT(task(R"({"type": "evaluator", "index": 0})"), HasSubstr("evaluator takes no part"));
  EXPECT_THAT(task("{}"), HasSubstr("task.type: is missing"));
  EXPECT_THAT(config_refusal(R"({"cluster": {"worker": ["a:1", "b:1"]}})"),
              HasSubstr("task: is missing"));
  const auto workers = [](const std::string& list) {
    return config_refusal(R"({"cluster": {"worker": )" + list + "}}");
  };
  EXPECT_THAT(workers(R"(["a:1", "a:1"])"), HasSubstr("cluster.worker[1]: a:1 is worker 0's too"));
  EXPECT_THAT(workers(R"(["a"])"), HasSubstr("cluster.worker[0]: 'a'; valid: \"host:port\""));
  EXPECT_THAT(workers(R"(["a;b:1"])"), HasSubstr("';' in the host name"));
  EXPECT_THAT(workers("[7]"), HasSubstr("cluster.worker[0]: is no text"));
  EXPECT_THAT(workers(R"({"1": "a:1"})"), HasSubstr("cluster.worker: is no list"));
  EXPECT_THAT(config_refusal(R"({"cluster": {"boss": ["a:1"]}})"),
              HasSubstr("unknown task type 'boss'"));
}

const EnvironmentVariables kSageMaker{
    {"SM_HOSTS", R"(["algo-2","algo-1"])"}, {"SM_CURRENT_HOST", "algo-2"}, {"SM_NUM_GPUS", "4"}};

TEST(SageMaker, OneProcessAHostTheFirstByNameLeads) {
  const auto plan = join_plan(kSageMaker);
  ASSERT_TRUE(plan);
  EXPECT_THAT(plan->processes, ElementsAre("algo-1", "algo-2"));
  EXPECT_EQ(plan->process, 1);
  EXPECT_EQ(plan->slots, 4);
  EXPECT_EQ(plan->meeting, (Endpoint{"algo-1", 7777}));
  EXPECT_FALSE(plan->is_on_one_host);
  EXPECT_EQ(join_plan(with(kSageMaker, {{"MASTER_PORT", "7000"}}))->meeting.port, 7000);
  EXPECT_EQ(join_plan(with(kSageMaker, {{"SM_NUM_GPUS", "0"}}))->slots, 0);
  EXPECT_FALSE(join_plan(with(kSageMaker, {{"SM_HOSTS", R"(["algo-2"])"}})));
}

TEST(SageMaker, AHostOutsideTheListIsRefused) {
  EXPECT_THAT(refusal(with(kSageMaker, {{"SM_CURRENT_HOST", "algo-3"}})),
              HasSubstr("SM_CURRENT_HOST: 'algo-3' is none of SM_HOSTS"));
}

/// The second task of node n3.
EnvironmentVariables slurm(const EnvironmentVariables& others = {}) {
  return with({{"SLURM_JOB_ID", "100"},
               {"SLURM_STEP_ID", "2"},
               {"SLURM_STEP_NODELIST", "n[1-3]"},
               {"SLURM_STEP_NUM_TASKS", "4"},
               {"SLURM_STEP_TASKS_PER_NODE", "1(x2),2"},
               {"SLURM_PROCID", "3"},
               {"SLURM_NODEID", "2"},
               {"SLURM_LOCALID", "1"}},
              others);
}

TEST(SlurmStep, TasksOfAStepAreRanks) {
  const auto plan = join_plan(slurm());
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->size(), 4);
  EXPECT_EQ(plan->process, 3);
  EXPECT_EQ(plan->host, "n3");
  EXPECT_EQ(plan->slots, 2);
  EXPECT_FALSE(plan->is_agent);
  EXPECT_TRUE(plan->is_confined);
  EXPECT_FALSE(plan->is_on_one_host);
  EXPECT_EQ(plan->meeting.address, "n1");
  EXPECT_NE(plan->meeting.port, join_plan(slurm({{"SLURM_STEP_ID", "3"}}))->meeting.port);
  EXPECT_EQ(join_plan(slurm({{"MASTER_ADDR", "127.0.0.1"}}))->meeting.address, "127.0.0.1");
}

TEST(SlurmStep, ABatchScriptOrAShellIsNone) {
  EXPECT_FALSE(join_plan(slurm({{"SLURM_STEP_NODELIST", ""}})));
  EXPECT_FALSE(join_plan(slurm({{"SLURM_STEP_NUM_TASKS", "1"}, {"SLURM_PROCID", "0"}})));
}

TEST(SlurmStep, WhatDoesNotFitIsNamed) {
  EXPECT_THAT(refusal(slurm({{"SLURM_PROCID", "4"}})), HasSubstr("SLURM_PROCID: '4'"));
  EXPECT_THAT(refusal(slurm({{"SLURM_NODEID", "3"}})), HasSubstr("SLURM_NODEID: '3'"));
  EXPECT_THAT(refusal(slurm({{"SLURM_STEP_NODELIST", "n[1-"}})), HasSubstr("SLURM_STEP_NODELIST"));
  for (const char* const tasks : {"1(x2)", "1(x2),2,", "x", "1(x2", "0(x3)"}) {
    EXPECT_THAT(refusal(slurm({{"SLURM_STEP_TASKS_PER_NODE", tasks}})),
                HasSubstr("SLURM_STEP_TASKS_PER_NODE: "))
        << tasks;
  }
}

}  // namespace
}  // namespace scalebench
