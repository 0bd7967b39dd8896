// SPDX-License-Identifier: Apache-2.0
// Blocks take chunks of the parts, four floats at a time where all arrays of a part are aligned.
// Compiled without fused multiply-add, with exact roots and
// quotients (nvcc's default), so that the numbers are the host's.
#include <algorithm>

#include "kernels/chunks.hpp"
#include "kernels/cuda/map.cuh"
#include "kernels/device_kernels.hpp"

namespace scalebench {
namespace {

constexpr int kMostParts = 88;
constexpr std::size_t kChunk = 8192;  // elements

struct Parts {  // a kernel argument: at most 4 KiB
  UpdatePart part[kMostParts];
  Chunks<kMostParts> chunks;
};
static_assert(sizeof(Parts) <= 4000);

struct Sgd {
  float momentum;
  const double* rate_in_memory;
  float rate = 0;
  __device__ void begin() { rate = static_cast<float>(*rate_in_memory); }
  __device__ void operator()(float& parameter, float gradient, float& velocity, float&) const {
    velocity = momentum * velocity + gradient;
    parameter -= rate * velocity;
  }
};

struct Adam {
  float beta1, rest1, beta2, rest2, epsilon;
  const AdamProgress* progress;
  float step_size = 0, bias2_root = 0;
  __device__ void begin() {
    step_size = progress->step_size;
    bias2_root = progress->bias2_root;
  }
  __device__ void operator()(float& parameter, float gradient, float& mean, float& square) const {
    mean = beta1 * mean + rest1 * gradient;
    square = beta2 * square + rest2 * gradient * gradient;
    parameter -= step_size * mean / (sqrtf(square) / bias2_root + epsilon);
  }
};

template <int Arrays>
__device__ bool aligned(const UpdatePart& part) {
  auto bits = reinterpret_cast<std::uintptr_t>(part.parameters) |
              reinterpret_cast<std::uintptr_t>(part.gradients);
  for (int i = 0; i < Arrays; ++i) bits |= reinterpret_cast<std::uintptr_t>(part.state[i]);
  return bits % sizeof(float4) == 0;
}

template <int Arrays, class Rule>
__device__ void update_one(const UpdatePart& part, std::size_t at, const Rule& rule) {
  float none = 0;
  float& second = Arrays == 2 ? part.state[1][at] : none;
  rule(part.parameters[at], part.gradients[at], part.state[0][at], second);
}

template <int Arrays, class Rule>
__device__ void update_four(const UpdatePart& part, std::size_t at, const Rule& rule) {
  auto* const parameters = reinterpret_cast<float4*>(part.parameters) + at;
  auto* const first_state = reinterpret_cast<float4*>(part.state[0]) + at;
  const float4 gradients = reinterpret_cast<const float4*>(part.gradients)[at];
  float4 values = *parameters, first = *first_state, second = {};
  if constexpr (Arrays == 2) second = reinterpret_cast<float4*>(part.state[1])[at];
  rule(values.x, gradients.x, first.x, second.x);
  rule(values.y, gradients.y, first.y, second.y);
  rule(values.z, gradients.z, first.z, second.z);
  rule(values.w, gradients.w, first.w, second.w);
  *parameters = values;
  *first_state = first;
  if constexpr (Arrays == 2) reinterpret_cast<float4*>(part.state[1])[at] = second;
}

template <int Arrays, class Rule>
__global__ void update_kernel(const Parts parts, Rule rule) {
  rule.begin();
  for (unsigned i = blockIdx.x; i < parts.chunks.total(); i += gridDim.x) {
    const auto place = parts.chunks.place_of(i);
    const UpdatePart& part = parts.part[place.array];
    const std::size_t first = place.chunk * kChunk;
    const std::size_t end = std::min(first + kChunk, part.count);
    const std::size_t fours = aligned<Arrays>(part) ? end / 4 : first / 4;
    for (std::size_t at = first / 4 + threadIdx.x; at < fours; at += blockDim.x) {
      update_four<Arrays>(part, at, rule);
    }
    for (std::size_t at = 4 * fours + threadIdx.x; at < end; at += blockDim.x) {
      update_one<Arrays>(part, at, rule);
    }
  }
}

__global__ void begin_adam_step(AdamProgress* progress, double beta1, double beta2,
                                const double* rate) {
  progress->steps += 1;
  progress->step_size = static_cast<float>(*rate / (1 - pow(beta1, progress->steps)));
  progress->bias2_root = static_cast<float>(sqrt(1 - pow(beta2, progress->steps)));
}

template <int Arrays, class Rule>
void launch(std::span<const UpdatePart> parts, const Rule& rule, DeviceStream stream) {
  for (std::size_t first = 0; first < parts.size(); first += kMostParts) {
    const std::size_t count = std::min<std::size_t>(kMostParts, parts.size() - first);
    Parts some{};
    for (std::size_t i = 0; i < count; ++i) {
      some.part[i] = parts[first + i];
      some.chunks.push((some.part[i].count + kChunk - 1) / kChunk);
    }
    if (some.chunks.total() == 0) continue;
    const unsigned blocks = device::blocks_for_chunks(some.chunks.total());
    update_kernel<Arrays><<<blocks, 256, 0, static_cast<cudaStream_t>(stream.handle)>>>(some, rule);
    CUDA_CHECK(cudaGetLastError());
  }
}

float single(double value) { return static_cast<float>(value); }

}  // namespace

void sgd_update(std::span<const UpdatePart> parts, float momentum, const double* rate,
                DeviceStream stream) {
  launch<1>(parts, Sgd{momentum, rate}, stream);
}

void adam_update(std::span<const UpdatePart> parts, const AdamStep& decay, const double* rate,
                 AdamProgress* progress, DeviceStream stream) {
  begin_adam_step<<<1, 1, 0, static_cast<cudaStream_t>(stream.handle)>>>(progress, decay.beta1,
                                                                         decay.beta2, rate);
  CUDA_CHECK(cudaGetLastError());
  launch<2>(parts,
            Adam{single(decay.beta1), single(1 - decay.beta1), single(decay.beta2),
                 single(1 - decay.beta2), single(decay.epsilon), progress},
            stream);
}

}  // namespace scalebench
