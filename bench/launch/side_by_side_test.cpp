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

EnvironmentVariables of_two_hosts() {
  return {{"SM_HOSTS", R"(["h1", "h2.invalid"])"}, {"SM_CURRENT_HOST", "h1"}};
}

TEST(SideBySide, AWayToTheOtherHostsIsNeeded) {
  EXPECT_THAT(message_of<UsageError>([] { make_way(on_two_hosts(), of_two_hosts()); }),
              AllOf(StartsWith("SM_HOSTS: no rank can be started on h2.invalid by ssh ("),
                    HasSubstr("distribution={\"mpi\"")));
  EnvironmentVariables by_agent = of_two_hosts();
  by_agent["OMPI_MCA_plm_rsh_agent"] = "other";
  make_way(on_two_hosts(), by_agent);
  LaunchSettings settings = on_two_hosts();
  settings.hosts.pop_back();
  make_way(settings, of_two_hosts());
}

TEST(SideBySide, WhatTheFirstOneStartsIsInNoStepOfSlurm) {
  setenv("SLURM_STEP_ID", "0", 1);
  EnvironmentVariables torchrun{{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"LOCAL_WORLD_SIZE", "2"}};
  torchrun["SLURM_STEP_ID"] = "0";
  make_way({}, torchrun);
  EXPECT_EQ(getenv("SLURM_STEP_ID"), nullptr);
}

}  // namespace
}  // namespace scalebench
