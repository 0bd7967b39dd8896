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
