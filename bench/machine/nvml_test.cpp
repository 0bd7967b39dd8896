// SPDX-License-Identifier: Apache-2.0
// The driver's library through a stand-in with its names and types; and, where there is a card, the
// real one.
#include "bench/machine/nvml.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "bench/machine/host_load.hpp"

namespace scalebench {
namespace {

using testing::IsNull;
using testing::Optional;

TEST(Nvml, FindsACardByTheUuidOfCudaAndASlicesCard) {
  const Nvml nvml(SCALEBENCH_FAKE_NVML);
  ASSERT_EQ(nvml.devices().size(), 1U);
  const Nvml::Device card = nvml.find("GPU-c0000000-0000-0000-0000-000000000000");
  EXPECT_EQ(card, nvml.devices()[0].second);
  EXPECT_EQ(nvml.find("MIG-50000000-0000-0000-0000-000000000000"), card);
  EXPECT_EQ(nvml.find("GPU-50000000-0000-0000-0000-000000000000"), card) << "as CUDA says it";
  EXPECT_THAT(nvml.find("GPU-d"), IsNull());
  EXPECT_THAT(nvml.find(""), IsNull());
}

TEST(Nvml, SaysWhatIsKnownAndNothingElse) {
  const Nvml nvml(SCALEBENCH_FAKE_NVML);
  const Nvml::Device card = nvml.devices()[0].second;
  EXPECT_EQ(nvml.watts(card), 650.5);
  EXPECT_EQ(nvml.clock_mhz(card), 1755);
  EXPECT_EQ(nvml.celsius(card), 61);
  EXPECT_THAT(nvml.clock_reasons(card), Optional(std::uint64_t{4}));
  EXPECT_TRUE(std::isnan(nvml.busy_share(card))) << "this library has no such call";
  EXPECT_FALSE(nvml.memory(card).has_value());
}

TEST(Nvml, WithoutALibraryThereAreNoDevices) {
  const Nvml nvml("no such library");
  EXPECT_TRUE(nvml.devices().empty());
  EXPECT_THAT(nvml.find("GPU-c0000000-0000-0000-0000-000000000000"), IsNull());
}

TEST(ClockReasons, NameWhatSlowsACardDown) {
  EXPECT_EQ(throttle_reasons(0), "none");
  EXPECT_EQ(throttle_reasons(0x1), "gpu_idle");
  EXPECT_EQ(throttle_reasons(0x44), "sw_power_cap;hw_thermal_slowdown");
  EXPECT_EQ(throttle_reasons(0x8000), "other");
}

TEST(ClockReasons, TellThrottlingFromIdlingAndPowerFromHeat) {
  for (const std::uint64_t bits : {0x0U, 0x1U, 0x2U, 0x10U, 0x100U, 0x8000U}) {
    EXPECT_FALSE(is_throttled(bits)) << bits;
  }
  for (const std::uint64_t bits : {0x4U, 0x8U, 0x20U, 0x40U, 0x80U, 0x5U}) {
    EXPECT_TRUE(is_throttled(bits)) << bits;
  }
  for (const std::uint64_t bits : {0x4U, 0x80U, 0x44U}) EXPECT_TRUE(is_power_capped(bits)) << bits;
  for (const std::uint64_t bits : {0x8U, 0x20U, 0x40U}) EXPECT_FALSE(is_power_capped(bits)) << bits;
}

}  // namespace
}  // namespace scalebench
