// SPDX-License-Identifier: Apache-2.0
// Who stays for whom, and how the first process starts the launcher. The hosts are addresses of the
// loopback.
#include "bench/launch/side_by_side.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <future>
#include <optional>

#include "kernels/error.hpp"
#include "kernels/testing.hpp"

namespace scalebench {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

/// On an address of this process's own.
ProcessPlace place_of(bool is_first) {
  const std::string first = fmt::format("127.7.{}.{}", getpid() / 250 % 250, 2 + getpid() % 250);
  return {.source = "SM_HOSTS",
          .own = is_first ? first : "127.0.0.3",
          .first = first,
          .is_first = is_first,
          .must_stay = true,
          .remedy = "type this"};
}

TEST(SideBySide, WhatTheFirstOneStartsIsInNoStepOfSlurm) {
  setenv("SLURM_STEP_ID", "0", 1);
  setenv("SLURM_JOB_NODELIST", "n[1-2]", 1);
  leave_step();
  EXPECT_EQ(getenv("SLURM_STEP_ID"), nullptr);
  EXPECT_EQ(getenv("SLURM_JOB_NODELIST"), nullptr);
}

TEST(SideBySide, OthersStayUntilTheFirstOneHasEnded) {
  std::optional<OpenPort> port(place_of(true));
  EXPECT_THAT(message_of<UsageError>([] { const OpenPort second(place_of(true)); }),
              HasSubstr("cannot be opened, for which the others wait"));
  auto other = std::async(std::launch::async, [] { stay_for_first(place_of(false)); });
  EXPECT_EQ(other.wait_for(std::chrono::milliseconds(300)), std::future_status::timeout);
  port.reset();
  other.get();
}

TEST(SideBySide, OthersDoNotStayForAFirstOneThatNeverComes) {
  EXPECT_THAT(message_of<Error>([] { stay_for_first(place_of(false), 0); }),
              HasSubstr("has not opened its port 7777 within 0 s"));
  ProcessPlace place = place_of(false);
  place.must_stay = false;
  stay_for_first(place);
  EXPECT_THAT(part_of(place), HasSubstr("127.0.0.3 ends here"));
}

LaunchSettings on_two_hosts() {
  LaunchSettings settings;
  settings.hosts = parse_hosts("h1:1,h2.invalid:1");
  return settings;
}

TEST(SideBySide, AWayToTheOtherHostsIsNeeded) {
  EXPECT_THAT(message_of<UsageError>([] { require_way_to(on_two_hosts(), place_of(true), {}); }),
              AllOf(StartsWith("SM_HOSTS: no rank can be started on h2.invalid by ssh ("),
                    testing::EndsWith("); type this")));
  require_way_to(on_two_hosts(), place_of(true), {{"OMPI_MCA_plm_rsh_agent", "other"}});
  LaunchSettings settings = on_two_hosts();
  settings.hosts.pop_back();
  require_way_to(settings, place_of(true), {});
}

RankProgram program() { return {{"/bin/bench_x", "--size", "8"}, "", 0, 1}; }

TEST(SideBySide, TheLauncherGetsTheDescriptionsHostsAndVariables) {
  const EnvironmentVariables variables{{"OMP_PROC_BIND", "true"},
                                       {"OMPI_MCA_btl", "self"},
                                       {"CUDA_VISIBLE_DEVICES", "0"},
                                       {"SECRET", "x"}};
  const RankStart start = start_of(program(), {"TF_CONFIG", parse_hosts("h1:1,h2:1")}, variables);
  const std::string line = shell_line(start.command);
  EXPECT_THAT(line, HasSubstr(" -np 2 -H h1:1,h2:1 --map-by ppr:1:node "));
  EXPECT_THAT(line, HasSubstr(" -x OMP_PROC_BIND "));
  for (const char* word : {"btl", "CUDA", "SECRET", "--timeout"}) {
    EXPECT_THAT(line, Not(HasSubstr(word)));
  }
  EXPECT_THAT(line, testing::EndsWith("/bin/bench_x --size 8"));
}

TEST(SideBySide, HostsHaveWhatThisOneHasWhereNothingIsSaid) {
  RankProgram on_gpus = program();
  on_gpus.devices = 8;
  const RankStart start = start_of(on_gpus, {"SM_HOSTS", parse_hosts("h1,h2")}, {});
  EXPECT_EQ(host_words(start.settings.hosts), "h1:8,h2:8");
  EXPECT_FALSE(start.settings.bind_to_core);
  EXPECT_THAT(message_of<UsageError>([] {
                start_of(program(), {"TF_CONFIG", parse_hosts("h1:2,h2:1")}, {});
              }),
              HasSubstr("TF_CONFIG: h1:2,h2:1: not as many ranks on each host"));
  const int many = 1000;
  EXPECT_TRUE(start_of(program(), {"RANK", {{"localhost", many}}}, {}).settings.oversubscribe);
}

}  // namespace
}  // namespace scalebench
