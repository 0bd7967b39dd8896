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

#include "bench/launch/host_survey.hpp"
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
          .must_stay = true};
}

TEST(SideBySide, OthersStayUntilTheFirstOneHasEnded) {
  Descriptor port = port_for_others(place_of(true));
  EXPECT_THAT(message_of<UsageError>([] { port_for_others(place_of(true)); }),
              HasSubstr("cannot be opened, for which the others wait"));
  auto other = std::async(std::launch::async, [] { stay_for_first(place_of(false)); });
  EXPECT_EQ(other.wait_for(std::chrono::milliseconds(300)), std::future_status::timeout);
  port = Descriptor();
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

TEST(SideBySide, AWayToTheOtherHostsIsNeeded) {
  const TemporaryFolder folder;
  const auto launcher = folder.write("mpirun", "#!/bin/sh\necho 'ssh: no route' >&2; exit 1\n");
  std::filesystem::permissions(launcher, std::filesystem::perms::owner_all);
  LaunchSettings settings;
  settings.mpirun = launcher.string();
  settings.hosts = parse_hosts("h1:1,h2:1");
  const EnvironmentVariables job{{"SM_HOSTS", R"(["h1", "h2"])"}, {"SM_CURRENT_HOST", "h1"}};
  EXPECT_THAT(
      message_of<UsageError>([&] {
        survey_hosts(settings, {{"bench_x", ""}}, job);
      }),
      AllOf(StartsWith("SM_HOSTS: no rank can be started on h2: bench_x does not start there: "
                       "ssh: no route; give the SageMaker estimator distribution={\"mpi\""),
            Not(HasSubstr("\n"))));
}

TEST(SideBySide, WhatTheFirstOneStartsIsInNoStepOfSlurm) {
  setenv("SLURM_STEP_ID", "0", 1);
  EnvironmentVariables torchrun{{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"LOCAL_WORLD_SIZE", "2"}};
  torchrun["SLURM_STEP_ID"] = "0";
  survey_hosts({}, {}, torchrun);
  EXPECT_EQ(getenv("SLURM_STEP_ID"), nullptr);
}

}  // namespace
}  // namespace scalebench
