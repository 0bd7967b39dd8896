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

#include "kernels/dtype.hpp"
#include "kernels/elementwise.hpp"

// Sixteen elements at a time between memory and the type that arithmetic is done in: widen_<isa>
// loads, narrow_<isa> stores, for the build's own target ("portable") and for x86 with AVX2 or
// AVX-512, where 16-bit types take intrinsics because GCC 12 does not vectorise them well. On x86
// also one register at a time: load_<isa> widens it, stored_<isa> narrows it, store_<isa> writes
// it. Only for functions compiled for that instruction set.

namespace scalebench::host {

inline constexpr std::size_t kLanes = 16;

template <class T>
void widen_portable(const T* from, ComputeType<T>* to) {
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    to[lane] = static_cast<ComputeType<T>>(from[lane]);
  }
}
template <class T>
void narrow_portable(const ComputeType<T>* from, T* to) {
  for (std::size_t lane = 0; lane < kLanes; ++lane) to[lane] = static_cast<T>(from[lane]);
}

}  // namespace scalebench::host

// Clang 14 cannot ask for f16c, and calls itself GNUC; it takes the portable loops.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define SCALEBENCH_X86_LANES
#include <immintrin.h>

#define SCALEBENCH_AVX2 __attribute__((target("avx2,f16c"))) inline
#define SCALEBENCH_AVX512 __attribute__((target("avx512f"))) inline

namespace scalebench::host {

template <class T>
using Avx2Register [[gnu::vector_size(32), gnu::may_alias]] = T;
template <class T>
using Avx512Register [[gnu::vector_size(64), gnu::may_alias]] = T;

template <class T>
SCALEBENCH_AVX2 Avx2Register<ComputeType<T>> load_avx2(const T* from) {
  if constexpr (kStoredOnly<T>) {
    const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    if constexpr (std::is_same_v<T, Half>) return _mm256_cvtph_ps(bits);
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
  } else {
    const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    return reinterpret_cast<Avx2Register<T>>(bits);
  }
}
/// The upper 16 bits of each lane, rounded as BFloat16(float) rounds. The bit that decides a tie is
/// tested in place: shifts are scarcer than comparisons.
SCALEBENCH_AVX2 __m256i upper_half_avx2(__m256 value) {
  const __m256i all = _mm256_castps_si256(value);
  const __m256i bit = _mm256_set1_epi32(0x10000);
  const __m256i minus_odd = _mm256_cmpeq_epi32(_mm256_and_si256(all, bit), bit);
  const __m256i half = _mm256_add_epi32(all, _mm256_set1_epi32(0x7fff));
  const __m256i rounded = _mm256_sub_epi32(half, minus_odd);
  const __m256i quiet = _mm256_or_si256(all, _mm256_set1_epi32(0x400000));
  const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(value, value, _CMP_UNORD_Q));
  return _mm256_srli_epi32(_mm256_blendv_epi8(rounded, quiet, nan), 16);
}
template <class T>
SCALEBENCH_AVX2 auto stored_avx2(Avx2Register<ComputeType<T>> value) {
  if constexpr (std::is_same_v<T, Half>) {
    return _mm256_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT);
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    const __m256i upper = upper_half_avx2(value);
    return _mm_packus_epi32(_mm256_castsi256_si128(upper), _mm256_extracti128_si256(upper, 1));
  } else {
    return reinterpret_cast<__m256i>(value);
  }
}
template <bool kStreaming>
SCALEBENCH_AVX2 void store_avx2(void* to, __m128i bits) {
  if constexpr (kStreaming) return _mm_stream_si128(static_cast<__m128i*>(to), bits);
  _mm_storeu_si128(static_cast<__m128i*>(to), bits);
}
template <bool kStreaming>
SCALEBENCH_AVX2 void store_avx2(void* to, __m256i bits) {
  if constexpr (kStreaming) return _mm256_stream_si256(static_cast<__m256i*>(to), bits);
  _mm256_storeu_si256(static_cast<__m256i*>(to), bits);
}

// The maskz forms with every lane on are the plain instructions; GCC 12 warns about its own plain
// forms, whose unused operand is uninitialised.
inline constexpr __mmask16 kEvery = 0xffff;
template <class T>
SCALEBENCH_AVX512 Avx512Register<ComputeType<T>> load_avx512(const T* from) {
  if constexpr (kStoredOnly<T>) {
    const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    if constexpr (std::is_same_v<T, Half>) return _mm512_maskz_cvtph_ps(kEvery, bits);
    const __m512i wide = _mm512_maskz_cvtepu16_epi32(kEvery, bits);
    return _mm512_castsi512_ps(_mm512_maskz_slli_epi32(kEvery, wide, 16));
  } else {
    return reinterpret_cast<Avx512Register<T>>(_mm512_loadu_si512(from));
  }
}
/// As upper_half_avx2, packed.
SCALEBENCH_AVX512 __m256i upper_half_avx512(__m512 value) {
  const __m512i all = _mm512_castps_si512(value);
  const __mmask16 odd = _mm512_test_epi32_mask(all, _mm512_set1_epi32(0x10000));
  const __m512i half = _mm512_add_epi32(all, _mm512_set1_epi32(0x7fff));
  const __m512i rounded = _mm512_mask_add_epi32(half, odd, half, _mm512_set1_epi32(1));
  const __mmask16 nan = _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q);
  const __m512i all_quiet = _mm512_mask_or_epi32(rounded, nan, all, _mm512_set1_epi32(0x400000));
  return _mm512_maskz_cvtepi32_epi16(kEvery, _mm512_maskz_srli_epi32(kEvery, all_quiet, 16));
}
template <class T>
SCALEBENCH_AVX512 auto stored_avx512(Avx512Register<ComputeType<T>> value) {
  if constexpr (std::is_same_v<T, Half>) {
    return _mm512_maskz_cvtps_ph(kEvery, value, _MM_FROUND_TO_NEAREST_INT);
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return upper_half_avx512(value);
  } else {
    return reinterpret_cast<__m512i>(value);
  }
}
template <bool kStreaming>
SCALEBENCH_AVX512 void store_avx512(void* to, __m256i bits) {
  if constexpr (kStreaming) return _mm256_stream_si256(static_cast<__m256i*>(to), bits);
  _mm256_storeu_si256(static_cast<__m256i*>(to), bits);
}
template <bool kStreaming>
SCALEBENCH_AVX512 void store_avx512(void* to, __m512i bits) {
  if constexpr (kStreaming) return _mm512_stream_si512(static_cast<__m512i*>(to), bits);
  _mm512_storeu_si512(to, bits);
}

#define SCALEBENCH_ARRAYS_FOR(isa, Register, attributes)                    \
  template <class T>                                                        \
  attributes void widen_##isa(const T* from, ComputeType<T>* to) {          \
    using Value = Register<ComputeType<T>>;                                 \
    constexpr std::size_t kLength = sizeof(Value) / sizeof(ComputeType<T>); \
    for (std::size_t i = 0; i < kLanes; i += kLength) {                     \
      *reinterpret_cast<Value*>(to + i) = load_##isa(from + i);             \
    }                                                                       \
  }                                                                         \
  template <class T>                                                        \
  attributes void narrow_##isa(const ComputeType<T>* from, T* to) {         \
    using Value = Register<ComputeType<T>>;                                 \
    constexpr std::size_t kLength = sizeof(Value) / sizeof(ComputeType<T>); \
    for (std::size_t i = 0; i < kLanes; i += kLength) {                     \
      const Value value = *reinterpret_cast<const Value*>(from + i);        \
      store_##isa<false>(to + i, stored_##isa<T>(value));                   \
    }                                                                       \
  }
SCALEBENCH_ARRAYS_FOR(avx2, Avx2Register, SCALEBENCH_AVX2)
SCALEBENCH_ARRAYS_FOR(avx512, Avx512Register, SCALEBENCH_AVX512)
#undef SCALEBENCH_ARRAYS_FOR

}  // namespace scalebench::host

#undef SCALEBENCH_AVX2
#undef SCALEBENCH_AVX512
#endif

// The one loop behind the host kernels: to[i] = operation(a[i], b[i]) over any mix of dtypes.
// It is compiled for AVX-512, AVX2 and the build's own target, and the processor chooses at run
// time. Where a dtype is stored in 16 bits, sixteen elements at a time are widened, computed and
// narrowed; everything else is left to the vectoriser.

// Elements do not depend on each other, even if `to` is `a`; without this the vectoriser guards.
#if defined(__clang__)
#define SCALEBENCH_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define SCALEBENCH_INDEPENDENT _Pragma("GCC ivdep")
#endif

namespace scalebench::host {

#define SCALEBENCH_MAP_FOR(isa, attributes)                                                 \
  template <class To, class A, class B, class Operation>                                    \
  attributes void map_##isa(To* to, const A* a, const B* b, std::size_t count,              \
                            Operation operation) {                                          \
    std::size_t i = 0;                                                                      \
    if constexpr (kStoredOnly<To> || kStoredOnly<A> || kStoredOnly<B>) {                    \
      for (; i + kLanes <= count; i += kLanes) {                                            \
        alignas(64) ComputeType<A> x[kLanes];                                               \
        alignas(64) ComputeType<B> y[kLanes];                                               \
        alignas(64) ComputeType<To> result[kLanes];                                         \
        widen_##isa(a + i, x);                                                              \
        widen_##isa(b + i, y);                                                              \
        for (std::size_t lane = 0; lane < kLanes; ++lane) {                                 \
          result[lane] = operation(x[lane], y[lane]);                                       \
        }                                                                                   \
        narrow_##isa(result, to + i);                                                       \
      }                                                                                     \
    }                                                                                       \
    SCALEBENCH_INDEPENDENT                                                                  \
    for (; i < count; ++i) {                                                                \
      to[i] = static_cast<To>(                                                              \
          operation(static_cast<ComputeType<A>>(a[i]), static_cast<ComputeType<B>>(b[i]))); \
    }                                                                                       \
  }

SCALEBENCH_MAP_FOR(portable, )
#ifdef SCALEBENCH_X86_LANES
SCALEBENCH_MAP_FOR(avx2, __attribute__((target("avx2,f16c"))))
SCALEBENCH_MAP_FOR(avx512, __attribute__((target("avx512f"))))
#endif
#undef SCALEBENCH_MAP_FOR

/// `to` may be `a` or `b` where their dtypes are equal, but may not overlap them otherwise.
/// `operation` takes the compute types of A and B and returns that of To. To compute from one
/// array, pass it twice and ignore the second argument: it is then not loaded.
template <class To, class A, class B, class Operation>
void map(To* to, const A* a, const B* b, std::size_t count, Operation operation) {
#ifdef SCALEBENCH_X86_LANES
  if (__builtin_cpu_supports("avx512f")) return map_avx512(to, a, b, count, operation);
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c")) {
    return map_avx2(to, a, b, count, operation);
  }
#endif
  map_portable(to, a, b, count, operation);
}

}  // namespace scalebench::host

namespace scalebench::host {

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
