// SPDX-License-Identifier: Apache-2.0
// The bodies of kernels/layers as kernels. Blocks of 256 threads, three of them resident on a
// processor, each thread with 64 bytes of loads under way: 48 KiB a processor, where 4.8 TB/s times
// a latency of 0.7 us are 25 KiB of each of 132. None may need a stack, and so spill, which says
//   nvcc -std=c++20 -arch=sm_90 --fmad=false --expt-relaxed-constexpr -I. -Xptxas -v
//     -c kernels/cuda/layers.cu -o /dev/null
#include <algorithm>

#include "kernels/cuda/map.cuh"
#include "kernels/layers/input_body.hpp"
#include "kernels/layers/norm_body.hpp"
#include "kernels/layers/pool_body.hpp"

namespace scalebench::device {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kBlocks = 3;  // of a processor

class DeviceBlock {
 public:
  __device__ unsigned thread() const { return threadIdx.x; }
  __device__ unsigned threads() const { return blockDim.x; }
  __device__ unsigned tile() const { return blockIdx.x; }
  __device__ unsigned slice() const { return blockIdx.y; }
  __device__ void barrier() { __syncthreads(); }
  __device__ float* shared() {
    extern __shared__ float floats[];
    return floats;
  }
  template <class T>
  __device__ static void put(T* to, const Eight<T>& values) {
    constexpr int kWord = 16 / sizeof(T);
    struct Words {
      Pack<T, kWord> word[kWide / kWord];
    };
    const auto words = std::bit_cast<Words>(values);
    for (int i = 0; i < static_cast<int>(kWide) / kWord; ++i) {
      store_word(to + i * kWord, words.word[i]);
    }
  }
  template <class T>
  __device__ static Eight<T> narrowed(const float (&values)[kWide]) {
    Eight<T> result;
    for (unsigned i = 0; i < kWide; i += 2) narrow(result.lane + i, values[i], values[i + 1]);
    return result;
  }
};

template <class Body>
__global__ void __launch_bounds__(kThreads, kBlocks) grid_kernel(const Body body) {
  DeviceBlock block;
  body(block);
}

auto launcher(unsigned threads, DeviceStream stream) {
  return [threads, stream]<class Body>(const Body& body, unsigned tiles, unsigned slices) {
    const std::size_t shared = threads * shared_floats<Body>() * sizeof(float);
    grid_kernel<<<dim3(tiles, slices), threads, shared, static_cast<cudaStream_t>(stream.handle)>>>(
        body);
    CUDA_CHECK(cudaGetLastError());
  };
}

unsigned blocks_at_once() {
  int device = 0, processors = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device));
  return static_cast<unsigned>(processors) * kBlocks;
}

// A row has 450 to 900 pieces of work in a resnet: of small blocks the last round is less idle.
constexpr unsigned kPoolThreads = 128;

unsigned slices_of_rows(std::size_t rows) {
  constexpr std::size_t kMost = 32768;  // a grid has at most 65535 of them
  return static_cast<unsigned>(std::clamp<std::size_t>(rows, 1, kMost));
}

}  // namespace

Grid layer_grid(const Activations& shape) { return grid_for(shape, kThreads, blocks_at_once()); }

void norm_forward(const NormForward& layer, const Grid& grid, DeviceStream stream) {
  body::norm_forward(layer, grid, launcher(grid.threads, stream));
}

void norm_backward(const NormBackward& layer, const Grid& grid, DeviceStream stream) {
  body::norm_backward(layer, grid, launcher(grid.threads, stream));
}

void bias_forward(const BiasForward& layer, const Grid& grid, DeviceStream stream) {
  body::bias_forward(layer, grid, launcher(grid.threads, stream));
}

void bias_backward(const BiasBackward& layer, const Grid& grid, DeviceStream stream) {
  body::bias_backward(layer, grid, launcher(grid.threads, stream));
}

void pool_forward(const PoolForward& layer, DeviceStream stream) {
  const PoolShape& shape = layer.shape;
  body::pool_forward(layer, slices_of_rows(shape.images * shape.out_height()),
                     launcher(kPoolThreads, stream));
}

void pool_backward(const PoolBackward& layer, DeviceStream stream) {
  const PoolShape& shape = layer.shape;
  // About as many rows of cells.
  body::pool_backward(layer, slices_of_rows(shape.images * (shape.out_height() + 1)),
                      launcher(kPoolThreads, stream));
}

void gather_images(const ImageGather& gather, DeviceStream stream) {
  if (gather.count == 0) return;
  const std::size_t most = (gather.numbers() + kThreads * kWide - 1) / (kThreads * kWide);
  const auto slices = static_cast<unsigned>(std::min<std::size_t>(most, 8 * blocks_at_once()));
  body::gather_images(gather, slices, launcher(kThreads, stream));
}

}  // namespace scalebench::device
