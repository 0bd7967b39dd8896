// SPDX-License-Identifier: Apache-2.0
#include "bench/memory_limit.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

namespace scalebench {
namespace {

/// Whether the system gives so many bytes now.
bool given(std::size_t bytes) {
  void* const memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory != MAP_FAILED && munmap(memory, bytes) == 0;
}

TEST(MemoryLimit, HoldsOnTheCpuForAsLongAsItLives) {
  constexpr std::size_t kMiB = 1 << 20;
  ASSERT_TRUE(given(512 * kMiB));
  {
    const MemoryLimit limit({}, 128 * kMiB);
    EXPECT_TRUE(given(64 * kMiB));
    EXPECT_FALSE(given(512 * kMiB));
  }
  EXPECT_TRUE(given(512 * kMiB));
  const MemoryLimit none({}, 0);
  EXPECT_TRUE(given(512 * kMiB));
}

}  // namespace
}  // namespace scalebench
