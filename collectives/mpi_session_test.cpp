// SPDX-License-Identifier: Apache-2.0
// What launchers leave in the environment; ranks that disagree with it are in bench/e2e.
#include "collectives/mpi_session.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <optional>
#include <string>

namespace scalebench {
namespace {

/// The promise of exactly these variables; the environment is as before afterwards.
std::optional<int> promised_by(const std::map<std::string, std::string>& variables) {
  std::map<std::string, std::optional<std::string>> before;
  for (const char* const name :
       {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_SIZE", "WORLD_SIZE", "SLURM_NTASKS",
        "SLURM_PROCID", "SLURM_STEP_ID", "SLURM_STEP_NODELIST", "SLURM_STEP_NUM_TASKS"}) {
    const char* const value = std::getenv(name);
    before[name] = value == nullptr ? std::nullopt : std::optional<std::string>(value);
    unsetenv(name);
  }
  for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
  const std::optional<int> promised = ranks_promised_by_launcher();
  for (const auto& [name, value] : before) {
    value ? setenv(name.c_str(), value->c_str(), 1) : unsetenv(name.c_str());
  }
  return promised;
}

TEST(RanksPromised, ByTheLauncherThatLeftATrace) {
  EXPECT_EQ(promised_by({}), std::nullopt);
  EXPECT_EQ(promised_by({{"OMPI_COMM_WORLD_SIZE", "4"}}), 4);
  EXPECT_EQ(promised_by({{"PMI_SIZE", "none"}, {"WORLD_SIZE", "2"}}), 2);
}

TEST(RanksPromised, BySlurmToTheTasksOfAStepOnly) {
  const std::map<std::string, std::string> batch{{"SLURM_NTASKS", "64"}, {"SLURM_PROCID", "0"}};
  EXPECT_EQ(promised_by(batch), std::nullopt) << "a batch script is no task";
  EXPECT_EQ(promised_by({{"SLURM_NTASKS", "64"}}), std::nullopt) << "nor is salloc's shell";
  std::map<std::string, std::string> step = batch;
  step["SLURM_STEP_NUM_TASKS"] = "8";
  EXPECT_EQ(promised_by(step), std::nullopt) << "left over from elsewhere";
  step["SLURM_STEP_ID"] = "0";
  EXPECT_EQ(promised_by(step), 8);
  step.erase("SLURM_STEP_ID");
  step["SLURM_STEP_NODELIST"] = "n[1-2]";
  EXPECT_EQ(promised_by(step), 8);
}

}  // namespace
}  // namespace scalebench
