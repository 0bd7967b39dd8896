// SPDX-License-Identifier: Apache-2.0
// The one loop behind the host kernels: to[i] = operation(a[i], b[i]) over any mix of dtypes.
// It is compiled for AVX-512, AVX2 and the build's own target, and the processor chooses at run
// time. Where a dtype is stored in 16 bits, sixteen elements at a time are widened, computed and
// narrowed (host_lanes.hpp); everything else is left to the vectoriser.
#pragma once

#include <cstddef>

#include "kernels/host_lanes.hpp"
#include "kernels/number.hpp"

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
