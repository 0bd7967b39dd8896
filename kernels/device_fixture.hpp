// SPDX-License-Identifier: Apache-2.0
// What tests on a card begin with.
#pragma once

#include <gtest/gtest.h>

#include "kernels/device.hpp"

namespace scalebench {

/// Skips, visibly and with the reason, where there is no device.
class Device : public testing::Test {
 protected:
  void SetUp() override {
    if (device_count() == 0) GTEST_SKIP() << why_no_device();
    select_device(0);
  }
};

}  // namespace scalebench
