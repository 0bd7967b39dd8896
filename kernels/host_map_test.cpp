// SPDX-License-Identifier: Apache-2.0
// The instruction sets must not differ in a single bit: a processor that lacks one would otherwise
// compute other sums. Every pattern of the 16-bit types goes through each that this machine has.
#include "kernels/host_map.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace scalebench {
namespace {

template <class T>
std::vector<T> every_pattern(std::uint32_t factor) {
  std::vector<T> all(65536 + 11);  // a tail that fills no vector
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].bits = static_cast<std::uint16_t>(i * factor);
  }
  return all;
}

template <class T>
void expect_same_bits(const std::vector<T>& got, const std::vector<T>& want) {
  ASSERT_EQ(got.size(), want.size());
  EXPECT_EQ(std::memcmp(got.data(), want.data(), want.size() * sizeof(T)), 0);
}

template <class T>
void compare_instruction_sets() {
  const std::vector<T> a = every_pattern<T>(1);
  const std::vector<T> b = every_pattern<T>(40503);
  // Not a sum of two NaNs: which of the two survives is the compiler's choice.
  const auto product = [](float x, float y) { return y == y ? x * y : x; };
  const auto widened = [](float x, float) { return x; };
  std::vector<T> results(a.size()), portable(a.size());
  std::vector<float> wide(a.size()), portable_wide(a.size());
  host::map_portable(portable.data(), a.data(), b.data(), a.size(), product);
  host::map_portable(portable_wide.data(), a.data(), a.data(), a.size(), widened);
#ifdef SCALEBENCH_X86_LANES
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c")) {
    host::map_avx2(results.data(), a.data(), b.data(), a.size(), product);
    expect_same_bits(results, portable);
    host::map_avx2(wide.data(), a.data(), a.data(), a.size(), widened);
    expect_same_bits(wide, portable_wide);
  }
  if (__builtin_cpu_supports("avx512f")) {
    host::map_avx512(results.data(), a.data(), b.data(), a.size(), product);
    expect_same_bits(results, portable);
    host::map_avx512(wide.data(), a.data(), a.data(), a.size(), widened);
    expect_same_bits(wide, portable_wide);
  }
#endif
  host::map(results.data(), a.data(), b.data(), a.size(), product);
  expect_same_bits(results, portable);
}

TEST(HostMap, InstructionSetsAgreeOnHalf) { compare_instruction_sets<Half>(); }
TEST(HostMap, InstructionSetsAgreeOnBFloat16) { compare_instruction_sets<BFloat16>(); }

}  // namespace
}  // namespace scalebench
