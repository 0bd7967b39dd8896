// SPDX-License-Identifier: Apache-2.0
// The instruction sets must not differ in a single bit: ranks on different processors would
// otherwise hold different sums. Every pattern of the 16-bit types, infinities, NaNs and both zeros
// go through each that this machine has, and through one element at a time.
#include "kernels/host_loop.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <limits>
#include <vector>

namespace scalebench {
namespace {

constexpr std::size_t kCount = 65536 + 91;  // a tail that fills no block, and one that no register

template <class T>
T pattern(std::size_t i, std::size_t source) {
  const auto mixed = static_cast<std::uint32_t>(i * (source == 0 ? 1 : 40503 * source));
  if constexpr (kStoredOnly<T>) {
    return std::bit_cast<T>(static_cast<std::uint16_t>(mixed));
  } else if constexpr (std::is_same_v<T, std::int32_t>) {
    return static_cast<T>(mixed * 2654435769U);
  } else {
    constexpr T kSpecial[]{T{0}, -T{0}, std::numeric_limits<T>::infinity(),
                           -std::numeric_limits<T>::infinity(),
                           std::numeric_limits<T>::quiet_NaN()};
    const std::uint32_t choice = mixed % 11;
    return choice < std::size(kSpecial) ? kSpecial[choice] : static_cast<T>(mixed) / T{7} - T{900};
  }
}

/// Which of two NaNs survives a sum is the compiler's choice: they are all made the same.
template <class T>
void make_nans_equal(std::vector<T>& values) {
  for (T& value : values) {
    const auto number = static_cast<ComputeType<T>>(value);
    if (number != number) value = static_cast<T>(std::numeric_limits<ComputeType<T>>::quiet_NaN());
  }
}

template <ReduceOp op, class T>
void compare_instruction_sets(std::size_t sources, std::size_t destinations) {
  SCOPED_TRACE(testing::Message() << name_of(kDTypeOf<T>) << ' ' << name_of(op) << ' ' << sources
                                  << " to " << destinations);
  std::vector<std::vector<T>> inputs(sources, std::vector<T>(kCount));
  std::vector<const T*> from;
  for (std::size_t k = 0; k < sources; ++k) {
    for (std::size_t i = 0; i < kCount; ++i) inputs[k][i] = pattern<T>(i, k);
    from.push_back(inputs[k].data());
  }
  std::vector<T> want(kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    auto total = static_cast<ComputeType<T>>(inputs[0][i]);
    for (std::size_t k = 1; k < sources; ++k) {
      total = combined<op>(total, static_cast<ComputeType<T>>(inputs[k][i]));
    }
    want[i] = static_cast<T>(total);
  }
  constexpr bool kAnyNan = op == ReduceOp::sum || op == ReduceOp::prod;
  if (kAnyNan) make_nans_equal(want);
  const auto expect = [&](const char* name, auto&& combine) {
    std::vector<std::vector<T>> results(destinations, std::vector<T>(kCount));
    std::vector<T*> to;
    for (std::vector<T>& result : results) to.push_back(result.data());
    combine(std::span<const T* const>(from), std::span<T* const>(to));
    for (std::vector<T>& result : results) {
      if (kAnyNan) make_nans_equal(result);
      EXPECT_EQ(std::memcmp(result.data(), want.data(), kCount * sizeof(T)), 0) << name;
    }
  };
  expect("portable", [](auto f, auto t) { host::combine_portable<op, T>(f, t, 0, kCount); });
#ifdef SCALEBENCH_X86_LANES
  for (const Stores stores : {Stores::cached, Stores::streaming}) {
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c")) {
      expect("avx2", [=](auto f, auto t) { host::combine_avx2<op, T>(f, t, kCount, stores); });
    }
    if (__builtin_cpu_supports("avx512f")) {
      expect("avx512", [=](auto f, auto t) { host::combine_avx512<op, T>(f, t, kCount, stores); });
    }
  }
#endif
}

template <class T>
void compare_all() {
  for (const std::size_t sources : {1, 2, 3}) {
    for (const std::size_t destinations : {1, 2}) {
      compare_instruction_sets<ReduceOp::sum, T>(sources, destinations);
      compare_instruction_sets<ReduceOp::prod, T>(sources, destinations);
      compare_instruction_sets<ReduceOp::min, T>(sources, destinations);
      compare_instruction_sets<ReduceOp::max, T>(sources, destinations);
    }
  }
}

TEST(CombineLoop, InstructionSetsAgreeOnFloat) { compare_all<float>(); }
TEST(CombineLoop, InstructionSetsAgreeOnDouble) { compare_all<double>(); }
TEST(CombineLoop, InstructionSetsAgreeOnInt32) { compare_all<std::int32_t>(); }
TEST(CombineLoop, InstructionSetsAgreeOnHalf) { compare_all<Half>(); }
TEST(CombineLoop, InstructionSetsAgreeOnBFloat16) { compare_all<BFloat16>(); }

}  // namespace

// The instruction sets must not differ in a single bit: a processor that lacks one would otherwise
// compute other sums. Every pattern of the 16-bit types goes through each that this machine has.

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
