// SPDX-License-Identifier: Apache-2.0
// Joules of cards in a library that is none: the counter of the whole card goes on by 2.5 J each
// time that it is asked, that of another goes back.
#include "bench/training/epoch/energy.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "collectives/transport/thread_ranks_test.hpp"

namespace scalebench {
namespace {

const std::string kCard = "GPU-c0000000-0000-0000-0000-000000000000";
const std::string kCounterGoesBack = "GPU-b0000000-0000-0000-0000-000000000000";
const std::string kSlice = "GPU-50000000-0000-0000-0000-000000000001";

/// What every rank knows of one epoch with these cards, by rank; none: no rank has a card.
double joules_with(const std::vector<std::string>& uuids) {
  double joules = 0;
  run_ranks(2, [&](Communicator& host) {
    RankDevices devices;
    devices.uuids = uuids;
    EnergyAccount account(host, devices, SCALEBENCH_FAKE_NVML);
    account.start();
    const double mine = account.stop();
    if (host.rank() == 0) joules = mine;
  });
  return joules;
}

TEST(EnergyAccount, CountsACardOnceHoweverManyRanksShareIt) {
  EXPECT_EQ(joules_with({kCard, kCard}), 2.5);
}

TEST(EnergyAccount, IsUnknownWhereOneCardIs) {
  EXPECT_TRUE(std::isnan(joules_with({}))) << "no card";
  EXPECT_TRUE(std::isnan(joules_with({kCard, kCounterGoesBack})));
  EXPECT_TRUE(std::isnan(joules_with({kCard, kSlice}))) << "the whole card's would count twice";
  EXPECT_TRUE(std::isnan(joules_with({kCard, "GPU-d"}))) << "the driver knows no such card";
}

}  // namespace
}  // namespace scalebench
