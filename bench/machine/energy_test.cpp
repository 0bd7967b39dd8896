// SPDX-License-Identifier: Apache-2.0
// A machine's counters as files, and a card's in a library that is none.
#include "bench/machine/energy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "kernels/error.hpp"
#include "kernels/testing.hpp"

namespace scalebench::energy_test {
namespace {

using testing::HasSubstr;

const std::string kCard = "GPU-c0000000-0000-0000-0000-000000000000";

class Counters {
 public:
  void write(const std::string& zone, const std::string& file, const std::string& text) const {
    root_.write("sys/class/powercap/" + zone + "/" + file, text + "\n");
  }
  void zone(const std::string& zone, const std::string& name,
            const std::string& microjoules) const {
    write(zone, "name", name);
    write(zone, "max_energy_range_uj", "262143328850");
    write(zone, "energy_uj", microjoules);
  }
  const std::filesystem::path& root() const { return root_.path(); }

 private:
  TemporaryFolder root_;
};

TEST(EnergyMeter, SumsPackagesAndTheirMemoryOnce) {
  const Counters counters;
  counters.zone("intel-rapl:0", "package-0", "1000000");
  counters.zone("intel-rapl:0:0", "core", "900000");
  counters.zone("intel-rapl:0:1", "dram", "5000000");
  counters.zone("intel-rapl:1", "package-1", "70");
  counters.zone("intel-rapl:2", "psys", "9");
  counters.zone("intel-rapl-mmio:0", "package-0", "1000000");
  EnergyMeter meter(true, "", counters.root());
  meter.start();
  counters.write("intel-rapl:0", "energy_uj", "3500000");
  counters.write("intel-rapl:0:0", "energy_uj", "3200000");
  counters.write("intel-rapl:0:1", "energy_uj", "5250000");
  counters.write("intel-rapl:2", "energy_uj", "99000000");
  const Energy energy = meter.stop();
  ASSERT_TRUE(energy.host_joules) << energy.no_host;
  EXPECT_NEAR(*energy.host_joules, 2.75, 1e-9);
  EXPECT_FALSE(energy.card_joules);
  meter.start();
  EXPECT_EQ(meter.stop().host_joules, 0.0) << "each start counts anew";
}

TEST(EnergyMeter, FollowsACounterThatBeginsAgain) {
  const Counters counters;
  counters.zone("intel-rapl:0", "package-0", "262143000000");
  EnergyMeter meter(true, "", counters.root());
  meter.start();
  counters.write("intel-rapl:0", "energy_uj", "1671150");
  EXPECT_NEAR(meter.stop().host_joules.value(), 2.0, 1e-9);
}

TEST(EnergyMeter, OneCounterThatCannotBeReadLeavesNoSum) {
  const Counters counters;
  counters.zone("intel-rapl:0", "package-0", "1");
  counters.zone("intel-rapl:1", "package-1", "not for you");
  EnergyMeter meter(true, "", counters.root());
  meter.start();
  const Energy energy = meter.stop();
  EXPECT_FALSE(energy.host_joules);
  EXPECT_THAT(energy.no_host, HasSubstr("intel-rapl:1/energy_uj"));
}

/// Files are forbidden to nobody who is root: until it ends, he is somebody else.
class NotRoot {
 public:
  NotRoot() {
    if (was_root_ && ::seteuid(kNobody) != 0) fail("cannot become another user");
  }
  ~NotRoot() {
    if (was_root_ && ::seteuid(0) != 0) std::abort();
  }
  NotRoot(const NotRoot&) = delete;
  NotRoot& operator=(const NotRoot&) = delete;

 private:
  static constexpr uid_t kNobody = 65534;
  const bool was_root_ = ::geteuid() == 0;
};

TEST(EnergyMeter, WhatIsForbiddenHasThatReason) {
  const std::string folder = "sys/class/powercap", counter = folder + "/intel-rapl:0/energy_uj";
  for (const std::string& forbidden : {counter, folder}) {
    const Counters counters;
    counters.zone("intel-rapl:0", "package-0", "1000000");
    std::filesystem::permissions(counters.root(), std::filesystem::perms(0755));
    std::filesystem::permissions(counters.root() / forbidden, std::filesystem::perms::none);
    Energy energy;
    {
      const NotRoot user;
      EnergyMeter meter(true, "", counters.root());
      meter.start();
      energy = meter.stop();
    }
    std::filesystem::permissions(counters.root() / forbidden, std::filesystem::perms(0755));
    EXPECT_FALSE(energy.host_joules);
    EXPECT_EQ(energy.no_host, (counters.root() / forbidden).string() + ": Permission denied");
  }
}

TEST(EnergyMeter, ACounterThatGoesAwayMeanwhileLeavesNoSum) {
  const Counters counters;
  counters.zone("intel-rapl:0", "package-0", "1");
  EnergyMeter meter(true, "", counters.root());
  meter.start();
  std::filesystem::remove(counters.root() / "sys/class/powercap/intel-rapl:0/energy_uj");
  const Energy energy = meter.stop();
  EXPECT_FALSE(energy.host_joules);
  EXPECT_THAT(energy.no_host, HasSubstr("No such file"));
}

TEST(EnergyMeter, AMachineWithoutCountersSaysSo) {
  const Counters counters;
  EnergyMeter meter(true, "", counters.root());
  meter.start();
  EXPECT_THAT(meter.stop().no_host, HasSubstr("no RAPL counter"));
}

TEST(EnergyMeter, ACardCountsItself) {
  const Counters counters;
  EnergyMeter meter(false, kCard, counters.root(), SCALEBENCH_FAKE_NVML);
  meter.start();
  const Energy energy = meter.stop();
  // The library's counter goes on by 2.5 J each time that it is asked.
  EXPECT_EQ(energy.card_joules, 2.5) << energy.no_card;
  EXPECT_FALSE(energy.host_joules);
  EXPECT_EQ(energy.no_host, "") << "nobody asked for it";
}

TEST(EnergyMeter, ACardsCounterThatGoesBackLeavesNoJoules) {
  const Counters counters;
  EnergyMeter meter(false, "GPU-b0000000", counters.root(), SCALEBENCH_FAKE_NVML);
  meter.start();
  const Energy energy = meter.stop();
  EXPECT_FALSE(energy.card_joules);
  EXPECT_THAT(energy.no_card, HasSubstr("began again"));
}

// Two ranks on two slices would count the card's joules twice.
TEST(EnergyMeter, ASliceOfACardHasNoJoules) {
  const Counters counters;
  EnergyMeter meter(false, "GPU-50000000-0000-0000-0000-000000000001", counters.root(),
                    SCALEBENCH_FAKE_NVML);
  meter.start();
  const Energy energy = meter.stop();
  EXPECT_FALSE(energy.card_joules);
  EXPECT_EQ(energy.no_card, "a slice of a card has no counter of its own");
}

TEST(EnergyMeter, ACardThatNobodyKnowsHasAReason) {
  const Counters counters;
  EnergyMeter meter(false, "GPU-d", counters.root(), SCALEBENCH_FAKE_NVML);
  meter.start();
  EXPECT_THAT(meter.stop().no_card, HasSubstr("no card GPU-d"));
}

}  // namespace
}  // namespace scalebench::energy_test
