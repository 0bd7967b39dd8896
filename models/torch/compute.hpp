// SPDX-License-Identifier: Apache-2.0
// How a rank computes with LibTorch: autocast as a scope, devices and threads, step graphs.
#pragma once

#include <torch/types.h>

#include <functional>
#include <memory>
#include <vector>

#include "models/torch/device.hpp"

namespace scalebench {

/// Autocast to that precision on the calling thread and for that kind of device while it lives;
/// nothing for float32 and tf32. At its end the 16-bit copies of the weights, which LibTorch
/// caches, are forgotten: they are of weights that the next update changes.
class AutocastScope {
 public:
  AutocastScope(Precision precision, torch::Device device);
  ~AutocastScope();
  AutocastScope(const AutocastScope&) = delete;
  AutocastScope& operator=(const AutocastScope&) = delete;

 private:
  bool active_;
  torch::DeviceType device_;
  bool enabled_before_ = false;
  at::ScalarType dtype_before_ = at::kBFloat16;
};

/// Whether products and convolutions of this process may use TF32 from now on: for tf32 alone.
void allow_tensor_cores(Precision precision);

/// Tries a small convolution and dense layer, forward and backward. Throws UsageError in one line
/// with LibTorch's reason when this LibTorch cannot train in that precision on that device.
void require_precision(Precision precision, torch::Device device);

// Where a rank computes: LibTorch's view of it, chosen once per rank and thread.

/// Makes the calling thread compute on that device with that many CPU threads, and returns it.
/// LibTorch's OpenMP setting belongs to the calling thread; an OpenBLAS with its own threads is
/// told too, because LibTorch does not. Throws Unavailable when LibTorch or the machine has no such
/// device, UsageError for fewer than one thread.
torch::Device select_compute_device(ComputeDevice device, int index, int threads);

/// For a thread that helps a rank: LibTorch computes on it alone, without threads of its own.
void compute_with_one_thread();

/// piece(0) to piece(count - 1), shared among the CPU threads that the calling thread computes
/// with.
void in_parallel(unsigned count, const std::function<void(unsigned)>& piece);

/// From now on this process keeps memory that is freed. LibTorch asks for the same tens of
/// megabytes in every step; glibc would return them to the system each time, and every page would
/// be faulted in and zeroed anew. Does nothing with another C library.
void keep_freed_memory();

/// Returns when everything enqueued on the device is done; at once for the CPU.
void finish(torch::Device device);

// A whole step (forward, backward, update, and the batch where the device can make it) recorded
// once as a CUDA graph and then replayed: its hundreds of kernels start as one, which wins where
// launching them takes longer than running them. Only a LibTorch with CUDA has it.

/// Before the network is built: the calling thread works on a stream of its own from now on, since
/// the default stream cannot be recorded. Throws UsageError in one line where there are no graphs.
void begin_step_graphs(torch::Device device);

/// What is recorded.
struct RecordedStep {
  /// Enqueues a step on these tensors, images and labels or what they are made of, and returns its
  /// loss.
  std::function<torch::Tensor(const std::vector<torch::Tensor>& inputs)> run;
  /// Whose random numbers it draws, asked just before recording.
  std::function<std::vector<at::Generator>()> generators;
};

class StepGraph {
 public:
  virtual ~StepGraph() = default;
  /// One step, launched as it is for kStepsBeforeGraph steps, then recorded, then replayed. All
  /// calls need as many inputs of the same sizes, on the device. Returns the loss. Throws
  /// NotRecorded when the step does what cannot be recorded, OutOfMemory when there is too little
  /// to record it.
  virtual torch::Tensor run(const std::vector<torch::Tensor>& inputs) = 0;
};

std::unique_ptr<StepGraph> make_step_graph(RecordedStep step);

}  // namespace scalebench
