// SPDX-License-Identifier: Apache-2.0
// The one loop behind the device kernels: to[i] = operation(a[i], b[i]) over any mix of dtypes,
// the twin of host_loop.hpp. Each thread moves 16 bytes of the widest dtype at a time, strides over
// the grid, and does arithmetic on 16-bit types in float, narrowed in pairs. A head and a tail that
// do not fill 16 bytes go element by element, and so do arrays that cannot be aligned together.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "kernels/cuda/check.hpp"
#include "kernels/device.hpp"
#include "kernels/dtype.hpp"

namespace scalebench::device {

template <class T>
__device__ inline T widen(T value) {
  return value;
}
__device__ inline float widen(Half value) { return __half2float(__ushort_as_half(value.bits)); }
__device__ inline float widen(BFloat16 value) {
  return __uint_as_float(static_cast<std::uint32_t>(value.bits) << 16U);
}

/// Stores two results next to each other, rounded to nearest even.
template <class T>
__device__ inline void narrow(T* to, T first, T second) {
  to[0] = first;
  to[1] = second;
}
__device__ inline void narrow(Half* to, float first, float second) {
  const __half2 pair = __floats2half2_rn(first, second);
  to[0].bits = __half_as_ushort(__low2half(pair));
  to[1].bits = __half_as_ushort(__high2half(pair));
}
__device__ inline void narrow(BFloat16* to, float first, float second) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(first, second);
  to[0].bits = __bfloat16_as_ushort(__low2bfloat16(pair));
  to[1].bits = __bfloat16_as_ushort(__high2bfloat16(pair));
}

template <class T, int Count>
struct alignas(sizeof(T) * Count) Pack {
  T lane[Count];
};

/// Stores 16 bytes as one word. An assignment may store the lanes one by one, as they were
/// computed.
template <class T, int Count>
__device__ inline void store_word(T* to, const Pack<T, Count>& pack) {
  static_assert(sizeof(pack) == sizeof(uint4));
  __stwb(reinterpret_cast<uint4*>(to), std::bit_cast<uint4>(pack));
}

template <int Width, class To, class A, class B, class Operation>
__device__ inline void map_pack(To* to, const A* a, const B* b, Operation operation) {
  const Pack<A, Width> x = *reinterpret_cast<const Pack<A, Width>*>(a);
  const Pack<B, Width> y = *reinterpret_cast<const Pack<B, Width>*>(b);
  Pack<To, Width> result;
#pragma unroll
  for (int i = 0; i < Width; i += 2) {
    narrow(result.lane + i, operation(widen(x.lane[i]), widen(y.lane[i])),
           operation(widen(x.lane[i + 1]), widen(y.lane[i + 1])));
  }
  *reinterpret_cast<Pack<To, Width>*>(to) = result;
}

/// Elements [0, head) and the last few one by one, what lies between in packs of Width.
template <int Width, class To, class A, class B, class Operation>
__global__ void map_kernel(To* to, const A* a, const B* b, std::size_t count, std::size_t head,
                           Operation operation) {
  const std::size_t thread = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::size_t threads = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  const std::size_t packs = (count - head) / Width;
  for (std::size_t i = thread; i < packs; i += threads) {
    const std::size_t first = head + i * Width;
    map_pack<Width>(to + first, a + first, b + first, operation);
  }
  const std::size_t rest = count - packs * Width;
  for (std::size_t i = thread; i < rest; i += threads) {
    const std::size_t at = i < head ? i : i + packs * Width;
    To two[2];
    const auto result = operation(widen(a[at]), widen(b[at]));
    narrow(two, result, result);
    to[at] = two[0];
  }
}

/// Elements before `pointer` is aligned for packs of Width.
template <int Width, class T>
std::size_t misaligned(const T* pointer) {
  const std::size_t offset = reinterpret_cast<std::uintptr_t>(pointer) / sizeof(T) % Width;
  return offset == 0 ? 0 : Width - offset;
}

/// Blocks of 256 threads that fill the current device a few times over, or fewer for small work.
inline unsigned blocks_for(std::size_t threads_wanted) {
  int device = 0, processors = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device));
  const std::size_t most = static_cast<std::size_t>(processors) * 32;
  return static_cast<unsigned>(std::clamp<std::size_t>((threads_wanted + 255) / 256, 1, most));
}

/// A block a chunk, or fewer that fill the device and take them in turns.
inline unsigned blocks_for_chunks(unsigned chunks) {
  return std::min(chunks, blocks_for(std::size_t{chunks} * 256));
}

/// As host::map, enqueued on `stream`. `operation` is a functor with a __device__ operator().
template <class To, class A, class B, class Operation>
void map(To* to, const A* a, const B* b, std::size_t count, Operation operation,
         DeviceStream stream) {
  if (count == 0) return;
  constexpr int kWidth = 16 / static_cast<int>(std::max({sizeof(To), sizeof(A), sizeof(B)}));
  std::size_t head = std::min(count, misaligned<kWidth>(to));
  const bool together = misaligned<kWidth>(a) == misaligned<kWidth>(to) &&
                        misaligned<kWidth>(b) == misaligned<kWidth>(to);
  if (!together) head = count;
  const unsigned blocks = blocks_for(together ? count / kWidth : count);
  map_kernel<kWidth><<<blocks, 256, 0, static_cast<cudaStream_t>(stream.handle)>>>(to, a, b, count,
                                                                                   head, operation);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace scalebench::device
