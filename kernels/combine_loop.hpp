// SPDX-License-Identifier: Apache-2.0
// The loop behind combine() on the host: a block of 128 bytes at a time is loaded from every
// source, combined in registers and stored to every destination. Compiled for AVX2 and for the
// build's own target; the processor chooses at run time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include "kernels/combine.hpp"
#include "kernels/host_lanes.hpp"
#include "kernels/number.hpp"

namespace scalebench::host {

/// Integers are combined as unsigned, where sums and products wrap; min and max look at the sign.
template <ReduceOp op, class T>
constexpr T combined(T a, T b) {
  if constexpr (op == ReduceOp::min) return b < a ? b : a;
  if constexpr (op == ReduceOp::max) return a < b ? b : a;
  if constexpr (std::is_same_v<T, std::int32_t>) {
    const auto x = static_cast<std::uint32_t>(a), y = static_cast<std::uint32_t>(b);
    return static_cast<T>(op == ReduceOp::prod ? x * y : x + y);
  } else {
    return op == ReduceOp::prod ? a * b : a + b;
  }
}

/// Elements [first, count) one at a time: heads, tails and processors without AVX2.
template <ReduceOp op, class T>
void combine_singly(std::span<const T* const> from, std::span<T* const> to, std::size_t first,
                    std::size_t count) {
  for (std::size_t i = first; i < count; ++i) {
    auto result = static_cast<ComputeType<T>>(from[0][i]);
    for (std::size_t k = 1; k < from.size(); ++k) {
      result = combined<op>(result, static_cast<ComputeType<T>>(from[k][i]));
    }
    for (T* destination : to) destination[i] = static_cast<T>(result);
  }
}

#ifdef SCALEBENCH_X86_LANES

#define SCALEBENCH_AVX2 __attribute__((target("avx2,f16c")))

inline constexpr std::size_t kVector = 32;  // bytes of one AVX2 register
template <class T>
using Vector [[gnu::vector_size(kVector), gnu::may_alias]] = T;

template <ReduceOp op, class T>
SCALEBENCH_AVX2 inline __m256i combined_vector(__m256i a, __m256i b) {
  if constexpr (op == ReduceOp::sum || op == ReduceOp::prod) {
    using Wrapping = std::conditional_t<std::is_same_v<T, std::int32_t>, std::uint32_t, T>;
    const auto x = reinterpret_cast<Vector<Wrapping>>(a);
    const auto y = reinterpret_cast<Vector<Wrapping>>(b);
    return reinterpret_cast<__m256i>(op == ReduceOp::sum ? x + y : x * y);
  } else {
    const auto x = reinterpret_cast<Vector<T>>(a);
    const auto y = reinterpret_cast<Vector<T>>(b);
    if constexpr (op == ReduceOp::min) return reinterpret_cast<__m256i>(y < x ? y : x);
    return reinterpret_cast<__m256i>(x < y ? y : x);
  }
}

template <bool kStreaming>
SCALEBENCH_AVX2 inline void store(std::byte* to, __m256i value) {
  if constexpr (kStreaming) {
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to), value);
  } else {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), value);
  }
}

/// Types that are computed as they are stored: four registers at a time.
template <ReduceOp op, class T, bool kStreaming>
SCALEBENCH_AVX2 std::size_t combine_blocks(std::span<const T* const> from, std::span<T* const> to,
                                           std::size_t first,
                                           std::size_t count) requires(!kStoredOnly<T>) {
  constexpr std::size_t kRegisters = 4;
  constexpr std::size_t kBlock = kRegisters * kVector / sizeof(T);
  std::size_t i = first;
  for (; i + kBlock <= count; i += kBlock) {
    const auto load = [i](const T* source, std::size_t r) SCALEBENCH_AVX2 {
      return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(source + i) + r);
    };
    __m256i value[kRegisters];
    for (std::size_t r = 0; r < kRegisters; ++r) value[r] = load(from[0], r);
    for (std::size_t k = 1; k < from.size(); ++k) {
      for (std::size_t r = 0; r < kRegisters; ++r) {
        value[r] = combined_vector<op, T>(value[r], load(from[k], r));
      }
    }
    for (T* destination : to) {
      auto* bytes = reinterpret_cast<std::byte*>(destination + i);
      for (std::size_t r = 0; r < kRegisters; ++r) store<kStreaming>(bytes + r * kVector, value[r]);
    }
  }
  return i;
}

/// Types that are stored in 16 bits and computed in float: sixteen elements at a time.
template <ReduceOp op, class T, bool kStreaming>
SCALEBENCH_AVX2 std::size_t combine_blocks(std::span<const T* const> from, std::span<T* const> to,
                                           std::size_t first,
                                           std::size_t count) requires(kStoredOnly<T>) {
  std::size_t i = first;
  for (; i + kLanes <= count; i += kLanes) {
    alignas(64) float result[kLanes];
    widen_avx2(from[0] + i, result);
    for (std::size_t k = 1; k < from.size(); ++k) {
      alignas(64) float next[kLanes];
      widen_avx2(from[k] + i, next);
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        result[lane] = combined<op>(result[lane], next[lane]);
      }
    }
    alignas(64) T narrow[kLanes];
    narrow_avx2(result, narrow);
    const __m256i value = _mm256_load_si256(reinterpret_cast<const __m256i*>(narrow));
    for (T* destination : to)
      store<kStreaming>(reinterpret_cast<std::byte*>(destination + i), value);
  }
  return i;
}

/// Elements before every destination is aligned for streaming stores; `count` if they never all
/// are.
template <class T>
std::size_t streaming_head(std::span<T* const> to, std::size_t count) {
  const auto misaligned = [](const T* pointer) {
    const std::size_t offset = reinterpret_cast<std::uintptr_t>(pointer) % kVector;
    return offset == 0 ? 0 : (kVector - offset) / sizeof(T);
  };
  const std::size_t head = misaligned(to[0]);
  const bool together =
      std::ranges::all_of(to, [&](const T* pointer) { return misaligned(pointer) == head; });
  return together ? std::min(head, count) : count;
}

template <ReduceOp op, class T>
void combine_avx2(std::span<const T* const> from, std::span<T* const> to, std::size_t count,
                  Stores stores) {
  std::size_t done = 0;
  if (stores == Stores::streaming) {
    const std::size_t head = streaming_head(to, count);
    if (head < count) {
      combine_singly<op, T>(from, to, 0, head);
      done = combine_blocks<op, T, true>(from, to, head, count);
      _mm_sfence();
    }
  }
  done = combine_blocks<op, T, false>(from, to, done, count);
  combine_singly<op, T>(from, to, done, count);
}
#undef SCALEBENCH_AVX2
#endif

template <ReduceOp op, class T>
void combine(std::span<const T* const> from, std::span<T* const> to, std::size_t count,
             [[maybe_unused]] Stores stores) {
#ifdef SCALEBENCH_X86_LANES
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c")) {
    return combine_avx2<op, T>(from, to, count, stores);
  }
#endif
  combine_singly<op, T>(from, to, 0, count);
}

}  // namespace scalebench::host
