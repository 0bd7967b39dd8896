// SPDX-License-Identifier: Apache-2.0
#include "bench/hosts/compute.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>

#include "collectives/transport/thread_ranks_test.hpp"

namespace scalebench {
namespace {

using testing::Each;
using testing::Gt;
using testing::SizeIs;

TEST(Work, TakesFromTheWordToItsEndWithoutTheWaitForACore) {
  EXPECT_DOUBLE_EQ(seconds_of_work({10, 3}, 9, {10.5, 3}, 0.1), 0.5) << "given before the look";
  EXPECT_DOUBLE_EQ(seconds_of_work({10, 3}, 10.25, {10.5, 3}, 0.1), 0.25);
  EXPECT_DOUBLE_EQ(seconds_of_work({10, 3}, 10, {15, 7.5}, 0.1), 0.5) << "waited 4.5 of 5 seconds";
}

TEST(Work, WaitsBeforeTheWordWereNoneOfIt) {
  // Of 4 seconds of waiting 3 fit in before the word was given.
  EXPECT_DOUBLE_EQ(seconds_of_work({10, 3}, 13, {15, 7}, 0.1), 1);
  EXPECT_DOUBLE_EQ(seconds_of_work({10, 3}, 13, {13.25, 6}, 0.1), 0.25);
  EXPECT_DOUBLE_EQ(seconds_of_work({10, 3}, 10, {10.3, 3.3}, 0.1), 0.1)
      << "what it did is the least";
}

/// What each rank came to know.
std::vector<std::vector<double>> probed(int ranks, int per_host,
                                        const std::vector<std::string>& of) {
  std::vector<std::vector<double>> found;
  std::mutex mutex;
  run_ranks(
      ranks,
      [&](Communicator& host) {
        const std::vector<double> mine = probe_compute(host, of, [] {});
        const std::scoped_lock lock(mutex);
        found.push_back(mine);
      },
      SendMode::buffered, per_host);
  return found;
}

TEST(Compute, EveryRankKnowsTheTimeOfEveryHostInTurnsAndAtOnce) {
  for (const auto& machines : {std::vector<std::string>{"a", "a", "b"}, {"", "", ""}}) {
    const auto found = probed(6, 2, machines);
    EXPECT_THAT(found, SizeIs(6));
    EXPECT_THAT(found, Each(found.front()));
    EXPECT_THAT(found.front(), SizeIs(3));
    EXPECT_THAT(found.front(), Each(Gt(0)));
  }
}

}  // namespace
}  // namespace scalebench
