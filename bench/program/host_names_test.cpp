// SPDX-License-Identifier: Apache-2.0
#include "bench/program/host_names.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace scalebench {
namespace {

using testing::ElementsAre;

TEST(HostNames, AreThoseOfTheirRanks) {
  EXPECT_THAT(host_names({{0, 0, 1, 1}}, {"h1", "h1", "h2", "h2"}), ElementsAre("h1", "h2"));
  EXPECT_THAT(host_names({{0, 1, 0, 1}}, {"h1", "h2", "h1", "h2"}), ElementsAre("h1", "h2"));
}

TEST(HostNames, AreNumberedWhereTheyAreEqual) {
  EXPECT_THAT(host_names({{0, 0, 1, 2}}, {"box", "box", "box", "box"}),
              ElementsAre("box", "box-2", "box-3"));
  EXPECT_THAT(host_names({{0, 1, 2}}, {"box", "box-2", "box"}),
              ElementsAre("box", "box-2", "box-3"));
}

}  // namespace
}  // namespace scalebench
