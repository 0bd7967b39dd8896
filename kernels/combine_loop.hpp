// SPDX-License-Identifier: Apache-2.0
// The loops behind combine() on the host: registers are loaded from every source, combined and
// stored to every destination. Compiled for AVX-512, AVX2 and the build's own target, and the
// processor chooses at run time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "kernels/combine.hpp"
#include "kernels/host_lanes.hpp"
#include "kernels/host_map.hpp"
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

/// Elements [first, count) one at a time: for so few the loops of combine_portable cost more.
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

/// Elements [first, count), for the build's own target: heads, tails and other processors.
template <ReduceOp op, class T>
void combine_portable(std::span<const T* const> from, std::span<T* const> to, std::size_t first,
                      std::size_t count) {
  using Number = ComputeType<T>;
  const auto operation = [](Number a, Number b) { return combined<op>(a, b); };
  const auto same = [](Number a, Number /*unused*/) { return a; };
  if (from.size() == 2 && to.size() == 1) {
    return map_portable(to[0] + first, from[0] + first, from[1] + first, count - first, operation);
  }
  if (count - first < kLanes) return combine_singly<op, T>(from, to, first, count);
  constexpr std::size_t kMost = 256;  // stays in the first cache
  alignas(64) Number total[kMost];
  for (std::size_t i = first; i < count; i += kMost) {
    const std::size_t length = std::min(kMost, count - i);
    map_portable(total, from[0] + i, from[0] + i, length, same);
    for (const T* source : from.subspan(1)) {
      map_portable(total, total, source + i, length, operation);
    }
    for (T* destination : to) map_portable(destination + i, total, total, length, same);
  }
}

#ifdef SCALEBENCH_X86_LANES
/// Elements before every destination is aligned for streaming stores; `count` if they never all
/// are.
template <class T>
std::size_t streaming_head(std::span<T* const> to, std::size_t count, std::size_t alignment) {
  const auto misaligned = [=](const T* pointer) {
    const std::size_t offset = reinterpret_cast<std::uintptr_t>(pointer) % alignment;
    return offset == 0 ? 0 : (alignment - offset) / sizeof(T);
  };
  const std::size_t head = misaligned(to[0]);
  const bool together =
      std::ranges::all_of(to, [&](const T* pointer) { return misaligned(pointer) == head; });
  return together ? std::min(head, count) : count;
}

// combine_pair_<isa> and combine_many_<isa> take elements [first, count) as far as they fill
// registers, and return where they ended. A pair is the step of a ring: the loops over sources and
// destinations that the other has around every block would cost it a third of its speed in cache.
#define SCALEBENCH_COMBINE_FOR(isa, Register, attributes)                                       \
  template <ReduceOp op, class T>                                                               \
  attributes inline Register<T> combined_##isa(Register<T> a, Register<T> b) {                  \
    if constexpr (op == ReduceOp::min) {                                                        \
      return b < a ? b : a;                                                                     \
    } else if constexpr (op == ReduceOp::max) {                                                 \
      return a < b ? b : a;                                                                     \
    } else {                                                                                    \
      using Wrapping = std::conditional_t<std::is_same_v<T, std::int32_t>, std::uint32_t, T>;   \
      const auto x = reinterpret_cast<Register<Wrapping>>(a);                                   \
      const auto y = reinterpret_cast<Register<Wrapping>>(b);                                   \
      return reinterpret_cast<Register<T>>(op == ReduceOp::prod ? x * y : x + y);               \
    }                                                                                           \
  }                                                                                             \
  template <ReduceOp op, class T>                                                               \
  attributes std::size_t combine_pair_##isa(const T* a, const T* b, T* to, std::size_t first,   \
                                            std::size_t count) {                                \
    using Number = ComputeType<T>;                                                              \
    constexpr std::size_t kLength = sizeof(Register<Number>) / sizeof(Number);                  \
    std::size_t i = first;                                                                      \
    for (; i + kLength <= count; i += kLength) {                                                \
      const Register<Number> result =                                                           \
          combined_##isa<op, Number>(load_##isa(a + i), load_##isa(b + i));                     \
      store_##isa<false>(to + i, stored_##isa<T>(result));                                      \
    }                                                                                           \
    return i;                                                                                   \
  }                                                                                             \
  template <ReduceOp op, bool kStreaming, std::size_t kRegisters, class T>                      \
  attributes std::size_t combine_many_##isa(std::span<const T* const> from,                     \
                                            std::span<T* const> to, std::size_t first,          \
                                            std::size_t count) {                                \
    using Number = ComputeType<T>;                                                              \
    constexpr std::size_t kLength = sizeof(Register<Number>) / sizeof(Number);                  \
    std::size_t i = first;                                                                      \
    for (; i + kRegisters * kLength <= count; i += kRegisters * kLength) {                      \
      Register<Number> value[kRegisters];                                                       \
      for (std::size_t r = 0; r < kRegisters; ++r) {                                            \
        value[r] = load_##isa(from[0] + i + r * kLength);                                       \
      }                                                                                         \
      for (std::size_t k = 1; k < from.size(); ++k) {                                           \
        for (std::size_t r = 0; r < kRegisters; ++r) {                                          \
          const Register<Number> next = load_##isa(from[k] + i + r * kLength);                  \
          value[r] = combined_##isa<op, Number>(value[r], next);                                \
        }                                                                                       \
      }                                                                                         \
      decltype(stored_##isa<T>(value[0])) bits[kRegisters];                                     \
      for (std::size_t r = 0; r < kRegisters; ++r) bits[r] = stored_##isa<T>(value[r]);         \
      for (T * destination : to) {                                                              \
        for (std::size_t r = 0; r < kRegisters; ++r) {                                          \
          store_##isa<kStreaming>(destination + i + r * kLength, bits[r]);                      \
        }                                                                                       \
      }                                                                                         \
    }                                                                                           \
    return i;                                                                                   \
  }                                                                                             \
  template <ReduceOp op, bool kStreaming, class T>                                              \
  std::size_t combine_registers_##isa(std::span<const T* const> from, std::span<T* const> to,   \
                                      std::size_t first, std::size_t count) {                   \
    if (!kStreaming && from.size() == 2 && to.size() == 1) {                                    \
      return combine_pair_##isa<op>(from[0], from[1], to[0], first, count);                     \
    }                                                                                           \
    first = combine_many_##isa<op, kStreaming, 4>(from, to, first, count);                      \
    return combine_many_##isa<op, kStreaming, 1>(from, to, first, count);                       \
  }                                                                                             \
  template <ReduceOp op, class T>                                                               \
  void combine_##isa(std::span<const T* const> from, std::span<T* const> to, std::size_t count, \
                     Stores stores) {                                                           \
    using Number = ComputeType<T>;                                                              \
    constexpr std::size_t kStored = sizeof(Register<Number>) / sizeof(Number) * sizeof(T);      \
    const std::size_t head =                                                                    \
        stores == Stores::streaming ? streaming_head(to, count, kStored) : count;               \
    std::size_t done = 0;                                                                       \
    if (head < count) {                                                                         \
      combine_portable<op, T>(from, to, 0, head);                                               \
      done = combine_registers_##isa<op, true>(from, to, head, count);                          \
      _mm_sfence();                                                                             \
    } else {                                                                                    \
      done = combine_registers_##isa<op, false>(from, to, 0, count);                            \
    }                                                                                           \
    combine_portable<op, T>(from, to, done, count);                                             \
  }

SCALEBENCH_COMBINE_FOR(avx2, Avx2Register, __attribute__((target("avx2,f16c"))))
SCALEBENCH_COMBINE_FOR(avx512, Avx512Register, __attribute__((target("avx512f"))))
#undef SCALEBENCH_COMBINE_FOR
#endif

template <ReduceOp op, class T>
void combine(std::span<const T* const> from, std::span<T* const> to, std::size_t count,
             [[maybe_unused]] Stores stores) {
#ifdef SCALEBENCH_X86_LANES
  // Memory takes 128 bytes for each destination in turn best, which wide types fill with AVX2.
  const bool narrow = stores == Stores::streaming && !kStoredOnly<T>;
  if (!narrow && __builtin_cpu_supports("avx512f")) {
    return combine_avx512<op, T>(from, to, count, stores);
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c")) {
    return combine_avx2<op, T>(from, to, count, stores);
  }
#endif
  combine_portable<op, T>(from, to, 0, count);
}

}  // namespace scalebench::host
