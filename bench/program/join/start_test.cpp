// SPDX-License-Identifier: Apache-2.0
#include "bench/program/join/start.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace scalebench {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;

const RankProgram kProgram{{"/bin/bench_allreduce", "-b", "8"}, 1, false};

std::string after(const std::vector<std::string>& command, const std::string& word) {
  const auto found = std::find(command.begin(), command.end(), word);
  return found == command.end() ? "" : *(found + 1);
}

TEST(MpirunCommand, OnOneHostIsWhatIsTypedByHand) {
  unsetenv("SCALEBENCH_MPIRUN");
  EXPECT_THAT(mpirun_command(kProgram, {.hosts = {{"h1", 2}}}, {"OMP_NUM_THREADS"}),
              ElementsAre("mpirun", "-np", "2", "--host", "h1:2", "--bind-to", "core",
                          "/bin/bench_allreduce", "-b", "8"));
}

TEST(MpirunCommand, OnSeveralHostsPassesVariablesAndNoticesCutCables) {
  const auto command =
      mpirun_command(kProgram, {.hosts = {{"h1", 2}, {"h2", 4}}}, {"OMP_NUM_THREADS"});
  EXPECT_EQ(after(command, "-np"), "6");
  EXPECT_EQ(after(command, "--host"), "h1:2,h2:4");
  EXPECT_EQ(after(command, "-x"), "OMP_NUM_THREADS");
  EXPECT_EQ(after(command, "oob_tcp_keepalive_time"), "2");
}

TEST(MpirunCommand, BindsOnlyRanksThatHaveACoreForThemselves) {
  const Hosts hosts{{"h1", 2}, {"h2", 2}};
  const auto binding = [&](RankProgram program, RankPlaces places) {
    places.hosts = hosts;
    return after(mpirun_command(program, places, {}), "--bind-to");
  };
  EXPECT_EQ(binding(kProgram, {}), "core");
  EXPECT_EQ(binding(kProgram, {.is_crowded = true}), "none");
  EXPECT_EQ(binding(kProgram, {.on_one_machine = true}), "none");
  EXPECT_EQ(binding({kProgram.command, 2, false}, {}), "none");
  EXPECT_EQ(binding({kProgram.command, 1, true}, {}), "none");
  const auto yields = [&](bool crowded) {
    return mpirun_command(kProgram, {.hosts = hosts, .is_crowded = crowded}, {});
  };
  EXPECT_THAT(yields(true), Contains("mpi_yield_when_idle"));
  EXPECT_THAT(yields(false), Not(Contains("mpi_yield_when_idle")));
}

}  // namespace
}  // namespace scalebench
