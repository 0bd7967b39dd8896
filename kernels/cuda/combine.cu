// SPDX-License-Identifier: Apache-2.0
// Each thread loads 16 bytes from every source, combines them in registers and stores the result
// to every destination; sources and destinations may be memory of other devices or processes.
#include <algorithm>

#include "kernels/cuda/map.cuh"
#include "kernels/device_kernels.hpp"
#include "kernels/dtype.hpp"
#include "kernels/elementwise.hpp"

namespace scalebench::device {
namespace {

/// Sources and destinations, a kernel argument. Half types are rounded once, so that they all go
/// into one launch.
template <int Most, class T>
struct Arrays {
  T* pointer[Most];
  int sources;
  int destinations;
};
constexpr int kFew = 128;  // 1 KiB
#if CUDART_VERSION >= 12010
constexpr int kMany = 2 * 1024;  // as many as combine() takes: 16 of 32 KiB
#else
constexpr int kMany = 500;  // of 4 KiB
#endif

/// Elements [i, i + Width), which are aligned together in every array.
template <ReduceOp op, int Width, int Most, class T>
__device__ inline void combine_pack(const Arrays<Most, T>& arrays, std::size_t i) {
  ComputeType<T> result[Width];
  for (int k = 0; k < arrays.sources; ++k) {
    const Pack<T, Width> pack = *reinterpret_cast<const Pack<T, Width>*>(arrays.pointer[k] + i);
#pragma unroll
    for (int lane = 0; lane < Width; ++lane) {
      const auto value = widen(pack.lane[lane]);
      result[lane] = k == 0 ? value : combined<op>(result[lane], value);
    }
  }
  Pack<T, Width> narrowed;
  if constexpr (Width == 1) {
    T two[2];
    narrow(two, result[0], result[0]);
    narrowed.lane[0] = two[0];
  } else {
#pragma unroll
    for (int lane = 0; lane < Width; lane += 2) {
      narrow(narrowed.lane + lane, result[lane], result[lane + 1]);
    }
  }
  for (int j = 0; j < arrays.destinations; ++j) {
    T* const to = arrays.pointer[arrays.sources + j] + i;
    if constexpr (Width == 1) {
      *to = narrowed.lane[0];
    } else {
      store_word(to, narrowed);
    }
  }
}

/// Elements [0, head) and the last few one by one, what lies between in packs of Width.
template <ReduceOp op, int Width, int Most, class T>
__global__ void combine_kernel(const Arrays<Most, T> arrays, std::size_t count, std::size_t head) {
  const std::size_t thread = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::size_t threads = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  const std::size_t packs = (count - head) / Width;
  for (std::size_t i = thread; i < packs; i += threads) {
    combine_pack<op, Width>(arrays, head + i * Width);
  }
  const std::size_t rest = count - packs * Width;
  for (std::size_t i = thread; i < rest; i += threads) {
    combine_pack<op, 1>(arrays, i < head ? i : i + packs * Width);
  }
}

template <ReduceOp op, int Most, class T>
void launch(std::span<const ConstSpan> from, std::span<const Span> to, DeviceStream stream) {
  constexpr int kWidth = 16 / static_cast<int>(sizeof(T));
  const std::size_t count = from.front().count;
  Arrays<Most, T> arrays{};
  for (const ConstSpan source : from) {
    arrays.pointer[arrays.sources++] = const_cast<T*>(source.as<T>().data());
  }
  for (const Span destination : to) {
    arrays.pointer[arrays.sources + arrays.destinations++] = destination.as<T>().data();
  }
  const std::size_t head = std::min(count, misaligned<kWidth>(arrays.pointer[0]));
  bool together = true;
  for (int i = 1; i < arrays.sources + arrays.destinations; ++i) {
    together =
        together && misaligned<kWidth>(arrays.pointer[i]) == misaligned<kWidth>(arrays.pointer[0]);
  }
  const unsigned blocks = blocks_for(together ? count / kWidth : count);
  combine_kernel<op, kWidth><<<blocks, 256, 0, static_cast<cudaStream_t>(stream.handle)>>>(
      arrays, count, together ? head : count);
  CUDA_CHECK(cudaGetLastError());
}

template <ReduceOp op, class T>
void combine_all(std::span<const ConstSpan> from, std::span<const Span> to, DeviceStream stream) {
  const std::size_t arrays = from.size() + to.size();
  if (arrays > kMany) too_many_arrays(arrays, kMany);
  if (arrays <= kFew) {
    launch<op, kFew, T>(from, to, stream);
  } else {
    launch<op, kMany, T>(from, to, stream);
  }
}

}  // namespace

void combine(std::span<const ConstSpan> from, std::span<const Span> to, ReduceOp op,
             DeviceStream stream) {
  with_type(from.front().dtype, [&]<class T>() {
    switch (op) {
      case ReduceOp::prod:
        return combine_all<ReduceOp::prod, T>(from, to, stream);
      case ReduceOp::min:
        return combine_all<ReduceOp::min, T>(from, to, stream);
      case ReduceOp::max:
        return combine_all<ReduceOp::max, T>(from, to, stream);
      default:
        return combine_all<ReduceOp::sum, T>(from, to, stream);
    }
  });
}

}  // namespace scalebench::device
