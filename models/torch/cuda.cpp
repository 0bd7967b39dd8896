// SPDX-License-Identifier: Apache-2.0
// device.hpp on LibTorch's CUDA half, and step graphs on its CUDAGraph, whose memory pool keeps
// every intermediate in place.
#include <ATen/Context.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAGraph.h>
#include <ATen/ops/empty.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAStream.h>
#include <malloc.h>

#include <algorithm>
#include <utility>

#include "models/torch/compute.hpp"
#include "models/torch/device.hpp"

namespace scalebench {

DeviceStream torch_stream() { return {c10::cuda::getCurrentCUDAStream().stream()}; }

bool has_tf32(int device) {
  return at::cuda::getDeviceProperties(static_cast<c10::DeviceIndex>(device))->major >= 8;
}

void release_kept_memory() {
  c10::cuda::CUDACachingAllocator::emptyCache();
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

void limit_device_memory(int device, std::size_t bytes) {
  const auto index = static_cast<c10::DeviceIndex>(device);
  // The allocator knows the devices once it was asked for something.
  static_cast<void>(at::empty({1}, at::TensorOptions(at::Device(at::kCUDA, index))));
  const auto total = static_cast<double>(at::cuda::getDeviceProperties(index)->totalGlobalMem);
  const double share = bytes == 0 ? 1 : std::min(1.0, static_cast<double>(bytes) / total);
  c10::cuda::CUDACachingAllocator::setMemoryFraction(share, index);
}

void try_convolutions(bool wanted) { at::globalContext().setBenchmarkCuDNN(wanted); }

namespace {

/// Each replay then goes on with the generator's numbers. A LibTorch before 2.4 knows only its own
/// generator in graphs and refuses others while it records.
template <class Graph>
void follow(Graph& graph, const at::Generator& generator) {
  if constexpr (requires { graph.register_generator_state(generator); }) {
    if (generator.defined()) graph.register_generator_state(generator);
  }
}

class CudaStepGraph final : public StepGraph {
 public:
  explicit CudaStepGraph(RecordedStep step) : step_(std::move(step)) {}

  torch::Tensor run(const torch::Tensor& images, const torch::Tensor& labels) override {
    if (!images_.defined()) {
      images_ = images.clone();
      labels_ = labels.clone();
    } else {
      images_.copy_(images);
      labels_.copy_(labels);
    }
    if (steps_++ < kStepsBeforeGraph) return step_.run(images_, labels_);
    if (!loss_.defined()) record();
    graph_.replay();
    return loss_.clone();  // the next replay overwrites it
  }

 private:
  void record() {
    for (const at::Generator& generator : step_.generators()) follow(graph_, generator);
    graph_.capture_begin();
    try {
      const torch::Tensor loss = step_.run(images_, labels_);
      graph_.capture_end();
      loss_ = loss;
    } catch (const std::exception& error) {
      const std::string why = last_line(error);
      give_up();
      try {
        rethrow_memory_error();
      } catch (const OutOfMemory&) {
        throw;
      } catch (const std::exception&) {
        fail<UsageError>("--step graph: this model's step cannot be recorded: {}", why);
      }
    }
  }

  /// The stream is not left recording.
  void give_up() {
    try {
      graph_.capture_end();
    } catch (const std::exception&) {
      // It says again that the capture went wrong.
    }
  }

  RecordedStep step_;
  int steps_ = 0;
  // Destroyed after the graph that reads and writes them.
  torch::Tensor images_;
  torch::Tensor labels_;
  torch::Tensor loss_;
  at::cuda::CUDAGraph graph_;
};

}  // namespace

void begin_step_graphs(torch::Device device) {
  if (!device.is_cuda()) fail<UsageError>("--step graph: graphs are CUDA's, not for device cpu");
  c10::cuda::setCurrentCUDAStream(
      c10::cuda::getStreamFromPool(/*isHighPriority=*/false, device.index()));
}

std::unique_ptr<StepGraph> make_step_graph(RecordedStep step) {
  return std::make_unique<CudaStepGraph>(std::move(step));
}

}  // namespace scalebench
