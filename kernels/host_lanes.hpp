// SPDX-License-Identifier: Apache-2.0
// Sixteen elements at a time between memory and the type that arithmetic is done in: widen_<isa>
// loads, narrow_<isa> stores, for the build's own target ("portable") and for x86 with AVX2 or
// AVX-512, where 16-bit types take intrinsics because GCC 12 does not vectorise them well. On x86
// also one register at a time: load_<isa> widens it, stored_<isa> narrows it, store_<isa> writes
// it. Only for functions compiled for that instruction set (host_map.hpp, combine_loop.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/half.hpp"
#include "kernels/number.hpp"

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

#if defined(__x86_64__) && defined(__GNUC__)
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
