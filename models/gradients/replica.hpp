// SPDX-License-Identifier: Apache-2.0
// All parameters of a replica in one flat buffer of ours and all gradients in another: the
// communicator reads and writes where the network computes, and the optimizer sees one tensor.
// Both hold the parameters from the last to the first, which is about the order in which a backward
// pass completes their gradients, each at a multiple of 64 bytes.
// Autograd makes each step's gradients anew; a hook moves each into its place as soon as it is
// complete, or on a device where nobody waits for single ones all of them in one launch behind the
// last. That is one pass less over memory than zeroing a buffer into which autograd then adds.
#pragma once

#include <torch/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "collectives/communicator.hpp"
#include "collectives/steps.hpp"
#include "kernels/buffer.hpp"
#include "models/gradients/gradient_sync.hpp"
#include "models/network/network.hpp"
#include "models/step/optimizer.hpp"
#include "models/torch/gradient_hook.hpp"

namespace scalebench {

// The flat gradient buffer of a replica cut into buckets that are reduced one by one, in the order
// in which a backward pass fills them.

/// Elements of one parameter within the flat buffer, without the gap that follows.
struct FlatPlace {
  std::size_t first;
  std::size_t count;
};

/// Elements [first, first + count) of the flat buffer, with all gaps.
struct GradientBucket {
  std::size_t first = 0;
  std::size_t count = 0;
  std::vector<std::size_t> parameters;  // by index, in the order of the buffer
};

/// `places` by index of the parameter, from the last to the first in the buffer of `extent` float32
/// elements. A bucket ends with the parameter that makes it `bucket_bytes` long, the first one at
/// `first_bytes` if that is less.
std::vector<GradientBucket> buckets_of(const std::vector<FlatPlace>& places, std::size_t extent,
                                       std::size_t first_bytes, std::size_t bucket_bytes);

/// Collective: zeroed float32 in that memory, a window where the communicator uses it.
Window window_for(std::size_t count, Memory memory, Communicator& communicator);

class FlatReplica {
 public:
  /// When gradients are moved that on_ready() does not ask for.
  enum class Moves : std::uint8_t { as_completed, at_once };

  /// Collective. float32 parameters on one device, whose values are kept; buffers lie in windows
  /// where the communicator's memory is the device's.
  FlatReplica(const std::vector<torch::Tensor>& parameters, Communicator& communicator);
  FlatReplica(const std::vector<torch::Tensor>& parameters, Communicator& communicator,
              Moves moves);
  /// The parameters' memory ends with it.
  ~FlatReplica();
  FlatReplica(const FlatReplica&) = delete;
  FlatReplica& operator=(const FlatReplica&) = delete;

  using Place = FlatPlace;
  /// By index of the parameter; counts are without the gap that follows.
  const std::vector<Place>& places() const { return places_; }

  /// With gaps, which are zero. `flat_parameters().grad()` is flat_gradients().
  Span parameters() const { return parameter_window_.span; }
  Span gradients() const { return gradient_window_.span; }
  const torch::Tensor& flat_parameters() const { return flat_parameters_; }
  const torch::Tensor& flat_gradients() const { return flat_gradients_; }

  /// Called on the thread of the backward pass with the index of each parameter whose gradient is
  /// complete in its place, after before_last_backward(); at the latest in finish_step().
  void on_ready(std::function<void(std::size_t parameter)> ready) { ready_ = std::move(ready); }

  void begin_step();
  void before_last_backward() { last_ = true; }
  /// Gradients of parameters that took no part in the step are set to zero and called ready.
  void finish_step();

 private:
  void gather(std::size_t index);
  void complete(std::size_t index);
  void move(std::size_t index);
  void move_all();
  bool waits() const { return moves_ == Moves::at_once && !ready_; }

  const Moves moves_;
  std::vector<torch::Tensor> parameters_;
  std::vector<Place> places_;
  Window parameter_window_;
  Window gradient_window_;
  torch::Tensor flat_parameters_;
  torch::Tensor flat_gradients_;
  std::vector<torch::Tensor> views_;  // of the gradients, by index
  torch::Tensor gap_;                 // the zeros between them
  std::vector<bool> gathered_;
  std::size_t left_ = 0;  // not gathered
  bool last_ = false;
  std::function<void(std::size_t)> ready_;
  std::vector<GradientHook> hooks_;
};

// What strategies share whose ranks all compute on a whole replica: flat parameters and gradients.

class FlatSync : public GradientSync {
 public:
  /// Collective.
  explicit FlatSync(const GradientSyncInputs& inputs)
      : communicator_(inputs.communicator),
        trace_(inputs.trace),
        replica_(inputs.parameters, inputs.communicator) {}

  Workers workers() const override { return {communicator_.size(), communicator_.rank()}; }
  void begin_step() override { replica_.begin_step(); }
  void before_last_backward() override { replica_.before_last_backward(); }

 protected:
  FlatReplica& replica() { return replica_; }
  Communicator& communicator() const { return communicator_; }
  StepTrace& trace() const { return trace_; }

 private:
  Communicator& communicator_;
  StepTrace& trace_;
  FlatReplica replica_;
};

// Those that update the whole replica on every rank, with an optimizer over all of it.

class ReplicaSync : public FlatSync {
 public:
  /// Collective.
  explicit ReplicaSync(const GradientSyncInputs& inputs);

  bool update(double learning_rate, double gradient_scale) override;
  bool set_rate(double learning_rate) override { return optimizer_->set_rate(learning_rate); }
  NamedTensors optimizer_state() override { return optimizer_->state(); }
  void restore_optimizer(const NamedTensors& state) override { optimizer_->restore(state); }

 private:
  std::unique_ptr<Optimizer> optimizer_;
};

/// Gradients of scaled losses become those of the losses; false when one is infinite or not a
/// number. The scale 1 is not looked at: the losses themselves are.
bool unscale(const at::Tensor& gradients, double gradient_scale);

// Every rank holds a copy of the network: are the copies equal, and how to equalise what training
// does not (the running statistics of batch normalisation).

/// 64-bit hash over the bits of all parameters and buffers, in their order; equal only within one
/// build.
std::uint64_t hash_of(const Network& network);

/// Collective over a host communicator: true on every rank if all hashes are equal.
bool replicas_equal(const Network& network, Communicator& host);

/// Collective over a host communicator: the bits of rank 0's buffers replace everybody's, as in
/// PyTorch's DistributedDataParallel. Returns at once for a network without buffers.
void broadcast_buffers(Network& network, Communicator& host);

// LibTorch's tensors as what travels.

/// The elements of a contiguous tensor of one of the types that spans have; throws Error for
/// another one. The tensor must outlive the span.
Span span_of_tensor(const torch::Tensor& tensor);

/// Collective: rank `root`'s values replace everybody's. Any number type, by way of float64, so
/// integers are exact up to 2^53; any strides.
void broadcast_tensor(StagedExchange& ranks, torch::Tensor& tensor, int root);

// A flat buffer as it travels: itself where the transport reaches it and it stays float32, else a
// window that it is copied through, in the transport's memory and in the type of the wire.

class WireBuffer {
 public:
  /// Collective. `flat`: float32, outlives this object.
  WireBuffer(Communicator& communicator, Span flat, DType wire = DType::float32);

  /// What travels; as many elements as the flat buffer.
  Span span() const { return narrow_.owner ? narrow_.span : full_; }

  /// Elements of the flat buffer to the wire, and back; done on return. What is on a device must
  /// have been enqueued before.
  void load(Range range);
  void store(Range range);
  void load() { load(all()); }
  void store() { store(all()); }

 private:
  Range all() const { return {0, flat_.count}; }

  Communicator& communicator_;
  Span flat_;
  Window staging_;  // float32, where the transport does not reach the flat buffer
  Span full_;       // staging or the flat buffer
  Window narrow_;
};

}  // namespace scalebench
