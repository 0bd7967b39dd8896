// SPDX-License-Identifier: Apache-2.0
#include "bench/program/watchdog/life_signs.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <ctime>
#include <string>
#include <thread>
#include <vector>

namespace scalebench {
namespace {

void sleep() { std::this_thread::sleep_for(std::chrono::milliseconds(300)); }

TEST(LifeSigns, AProcessThatSleepsShowsNone) {
  LifeSigns signs;
  signs.any();
  // Threads of a library spin for a moment after they have begun.
  bool any = true;
  for (int look = 0; look < 100 && any; ++look) {
    sleep();
    any = signs.any();
  }
  EXPECT_FALSE(any);
}

TEST(LifeSigns, AProcessThatComputesShowsThem) {
  LifeSigns signs;
  signs.any();
  // By its own time on a processor, however many others want it.
  const std::clock_t end = std::clock() + CLOCKS_PER_SEC / 5;
  while (std::clock() < end) {
  }
  EXPECT_TRUE(signs.any());
}

TEST(LifeSigns, AProcessThatWritesAFileShowsThem) {
  std::string path = "life_signs.XXXXXX";
  const int file = mkstemp(path.data());
  ASSERT_GE(file, 0);
  LifeSigns signs;
  signs.any();
  const std::vector<char> bytes(std::size_t{1} << 20U);
  ASSERT_EQ(write(file, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  sleep();
  EXPECT_TRUE(signs.any());
  close(file);
  unlink(path.c_str());
}

}  // namespace
}  // namespace scalebench
