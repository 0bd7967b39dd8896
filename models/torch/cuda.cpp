// SPDX-License-Identifier: Apache-2.0
// device.hpp on LibTorch's CUDA half, and step graphs on its CUDAGraph, whose memory pool keeps
// every intermediate in place.
#include <ATen/Context.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAGeneratorImpl.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAStream.h>
#include <malloc.h>
#include <torch/version.h>

#include <utility>

#include "models/torch/capture.hpp"
#include "models/torch/compute.hpp"
#include "models/torch/device.hpp"

#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 11)
#include <ATen/core/CachingHostAllocator.h>
#endif

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

void try_convolutions(bool wanted) { at::globalContext().setBenchmarkCuDNN(wanted); }

void synchronize_torch_stream() { c10::cuda::getCurrentCUDAStream().synchronize(); }

namespace {

/// Each replay then goes on with the generator's numbers. A LibTorch before 2.4 knows only its own
/// generator in graphs and refuses others while it records.
template <class Graph>
void follow(Graph& graph, const at::Generator& generator) {
  if constexpr (requires { graph.register_generator_state(generator); }) {
    if (generator.defined()) graph.register_generator_state(generator);
  }
}

/// A generator of a recording that failed goes on with numbers of its own, as from its state now:
/// capture_end() failed before it told the generator so, which a fresh state has not to be told.
/// LibTorch's own generator outlives the trainer. Not tried on a card so far.
template <class Generator>
void forget_recording(Generator generator) {
  if constexpr (requires { generator.graphsafe_set_state(generator.clone()); }) {
    if (generator.defined()) generator.graphsafe_set_state(generator.clone());
  }
}

/// capture.hpp's graph on LibTorch's.
class Recording {
 public:
  Recording(at::cuda::CUDAGraph& graph, c10::cuda::MempoolId_t pool) : graph_(graph), pool_(pool) {}

  void begin() { begin(graph_); }
  void end() { graph_.capture_end(); }
  static void forget_failure() {
    static_cast<void>(cudaGetLastError());
  }  // or the next kernel says it

 private:
  /// Other threads may go on pinning memory, which only this mode allows. A LibTorch before 2.1 has
  /// no choice of modes.
  template <class Graph>
  void begin(Graph& graph) {
    if constexpr (requires { graph.capture_begin(pool_, cudaStreamCaptureModeThreadLocal); }) {
      graph.capture_begin(pool_, cudaStreamCaptureModeThreadLocal);
    } else {
      graph.capture_begin(pool_);
    }
  }

  at::cuda::CUDAGraph& graph_;
  c10::cuda::MempoolId_t pool_;
};

// capture.hpp's pools: what LibTorch leaves undone where its capture_end() fails, in its allocators
// of the device's memory and of pinned memory. Before 2.3 it has no such functions.

struct DevicePool {
  c10::DeviceIndex device;
  c10::cuda::MempoolId_t pool;

#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 3)
  void stop() const { c10::cuda::CUDACachingAllocator::endAllocateToPool(device, pool); }
  void release() const { c10::cuda::CUDACachingAllocator::releasePool(device, pool); }
#else
  void stop() const {}
  void release() const {}
#endif
};

/// 2.11 has these; else its filter would go on asking a graph that is gone.
struct PinnedPool {
  c10::cuda::MempoolId_t pool;

#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 11)
  void stop() const { at::getHostAllocator(at::kCUDA)->end_allocate_to_pool(pool); }
  void release() const { at::getHostAllocator(at::kCUDA)->release_pool(pool); }
#else
  void stop() const {}
  void release() const {}
#endif
};

class CudaStepGraph final : public StepGraph {
 public:
  explicit CudaStepGraph(RecordedStep step) : step_(std::move(step)) {}

  torch::Tensor run(const std::vector<torch::Tensor>& inputs) override {
    if (inputs_.empty()) {
      for (const torch::Tensor& input : inputs) inputs_.push_back(input.clone());
    } else {
      for (std::size_t i = 0; i < inputs.size(); ++i) inputs_[i].copy_(inputs[i]);
    }
    if (steps_++ < kStepsBeforeGraph) return step_.run(inputs_);
    if (!loss_.defined()) record();
    graph_.replay();
    return loss_.clone();  // the next replay overwrites it
  }

 private:
  void record() {
    for (const at::Generator& generator : step_.generators()) follow(graph_, generator);
    // The graph's pool can take nothing of what the allocator keeps from the steps before.
    c10::cuda::getCurrentCUDAStream().synchronize();
    c10::cuda::CUDACachingAllocator::emptyCache();
    const c10::cuda::MempoolId_t id = at::cuda::graph_pool_handle();
    Recording graph(graph_, id);
    const DevicePool on_device{device().index(), id};
    const PinnedPool pinned{id};
    try {
      torch::Tensor loss;
      capture(
          graph, [&] { loss = step_.run(inputs_); }, on_device, pinned);
      loss_ = loss;
    } catch (const std::exception& error) {
      const std::string why = last_line(error);
      forget_recordings();
      try {
        rethrow_memory_error();
      } catch (const OutOfMemory&) {
        throw;
      } catch (const std::exception&) {
        fail<NotRecorded>("--step graph, fused: this model's step cannot be recorded: {}", why);
      }
    }
  }

  void forget_recordings() {
    try {
      forget_recording(at::cuda::detail::getDefaultCUDAGenerator(device().index()));
      for (const at::Generator& generator : step_.generators()) forget_recording(generator);
    } catch (const std::exception&) {
      Recording::forget_failure();  // the stream records all the same: then nothing is to be saved
    }
  }

  torch::Device device() const { return inputs_.front().device(); }

  RecordedStep step_;
  int steps_ = 0;
  // Destroyed after the graph that reads and writes them.
  std::vector<torch::Tensor> inputs_;
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
