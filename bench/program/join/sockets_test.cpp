// SPDX-License-Identifier: Apache-2.0
#include "bench/program/join/sockets.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/error.hpp"

namespace scalebench {
namespace {

TEST(Endpoint, IsAHostAndAPort) {
  EXPECT_EQ(parse_endpoint("h.example:2222", "x"), (Endpoint{"h.example", 2222}));
  EXPECT_EQ(parse_endpoint("[fd00::2]:1", "x"), (Endpoint{"fd00::2", 1}));
  EXPECT_EQ(describe(parse_endpoint("[fd00::2]:1", "x")), "[fd00::2]:1");
  for (const char* const bad : {"h", "h:", "h:0", "h:65536", ":1", "a,b:1", "a:1:2", "fd00::2:1",
                                "h:1 ", "$(h):1", "-h:1", ""}) {
    EXPECT_THROW(parse_endpoint(bad, "x"), UsageError) << bad;
  }
}

TEST(Endpoint, PortsToMeetAtEndWithTheLast) {
  EXPECT_THAT(meeting_ports({"h", 65534}), testing::ElementsAre(65534, 65535));
  EXPECT_EQ(meeting_ports({"h", 2222}).size(), 8U);
}

}  // namespace
}  // namespace scalebench
