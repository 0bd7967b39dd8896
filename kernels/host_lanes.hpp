// SPDX-License-Identifier: Apache-2.0
// Sixteen elements at a time between memory and the type that arithmetic is done in.
// widen_<isa> loads, narrow_<isa> stores, for the build's own target and for x86 with AVX2 or
// AVX-512, where 16-bit types take intrinsics because GCC 12 does not vectorise them well.
// Only for functions compiled for that instruction set (host_map.hpp).
#pragma once

#include <cstddef>
#include <cstdint>

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
SCALEBENCH_AVX2 void widen_avx2(const T* from, T* to) {
  for (std::size_t lane = 0; lane < kLanes; ++lane) to[lane] = from[lane];
}
template <class T>
SCALEBENCH_AVX2 void narrow_avx2(const T* from, T* to) {
  for (std::size_t lane = 0; lane < kLanes; ++lane) to[lane] = from[lane];
}
SCALEBENCH_AVX2 void widen_avx2(const Half* from, float* to) {
  for (std::size_t i = 0; i < kLanes; i += 8) {
    const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
    _mm256_store_ps(to + i, _mm256_cvtph_ps(bits));
  }
}
SCALEBENCH_AVX2 void narrow_avx2(const float* from, Half* to) {
  for (std::size_t i = 0; i < kLanes; i += 8) {
    const __m128i bits = _mm256_cvtps_ph(_mm256_load_ps(from + i), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), bits);
  }
}
SCALEBENCH_AVX2 void widen_avx2(const BFloat16* from, float* to) {
  for (std::size_t i = 0; i < kLanes; i += 8) {
    const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
    const __m256i all = _mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16);
    _mm256_store_ps(to + i, _mm256_castsi256_ps(all));
  }
}
/// The upper 16 bits of each lane, rounded as BFloat16(float) rounds.
SCALEBENCH_AVX2 __m256i upper_half_avx2(__m256 value) {
  const __m256i all = _mm256_castps_si256(value);
  const __m256i top = _mm256_srli_epi32(all, 16);
  const __m256i odd = _mm256_and_si256(top, _mm256_set1_epi32(1));
  const __m256i bias = _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff));
  const __m256i rounded = _mm256_srli_epi32(_mm256_add_epi32(all, bias), 16);
  const __m256i quiet = _mm256_or_si256(top, _mm256_set1_epi32(0x40));
  const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(value, value, _CMP_UNORD_Q));
  return _mm256_blendv_epi8(rounded, quiet, nan);
}
SCALEBENCH_AVX2 void narrow_avx2(const float* from, BFloat16* to) {
  const __m256i low = upper_half_avx2(_mm256_load_ps(from));
  const __m256i high = upper_half_avx2(_mm256_load_ps(from + 8));
  // packus works within 128-bit halves; the permutation puts the four quarters in order.
  const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(low, high), 0xd8);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), packed);
}

template <class T>
SCALEBENCH_AVX512 void widen_avx512(const T* from, T* to) {
  for (std::size_t lane = 0; lane < kLanes; ++lane) to[lane] = from[lane];
}
template <class T>
SCALEBENCH_AVX512 void narrow_avx512(const T* from, T* to) {
  for (std::size_t lane = 0; lane < kLanes; ++lane) to[lane] = from[lane];
}
// The maskz forms with every lane on are the plain instructions; GCC 12 warns about its own plain
// forms, whose unused operand is uninitialised.
inline constexpr __mmask16 kEvery = 0xffff;
SCALEBENCH_AVX512 void widen_avx512(const Half* from, float* to) {
  const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  _mm512_store_ps(to, _mm512_maskz_cvtph_ps(kEvery, bits));
}
SCALEBENCH_AVX512 void narrow_avx512(const float* from, Half* to) {
  const __m512 value = _mm512_load_ps(from);
  const __m256i bits = _mm512_maskz_cvtps_ph(kEvery, value, _MM_FROUND_TO_NEAREST_INT);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), bits);
}
SCALEBENCH_AVX512 void widen_avx512(const BFloat16* from, float* to) {
  const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  const __m512i wide = _mm512_maskz_cvtepu16_epi32(kEvery, bits);
  _mm512_store_ps(to, _mm512_castsi512_ps(_mm512_maskz_slli_epi32(kEvery, wide, 16)));
}
SCALEBENCH_AVX512 void narrow_avx512(const float* from, BFloat16* to) {
  const __m512 value = _mm512_load_ps(from);
  const __m512i all = _mm512_castps_si512(value);
  const __m512i top = _mm512_maskz_srli_epi32(kEvery, all, 16);
  const __m512i odd = _mm512_and_si512(top, _mm512_set1_epi32(1));
  const __m512i sum = _mm512_add_epi32(all, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
  const __m512i rounded = _mm512_maskz_srli_epi32(kEvery, sum, 16);
  const __mmask16 nan = _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q);
  const __m512i result = _mm512_mask_or_epi32(rounded, nan, top, _mm512_set1_epi32(0x40));
  const __m256i packed = _mm512_maskz_cvtepi32_epi16(kEvery, result);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), packed);
}

}  // namespace scalebench::host

#undef SCALEBENCH_AVX2
#undef SCALEBENCH_AVX512
#endif
