// SPDX-License-Identifier: Apache-2.0
// LibTorch's tensors as what travels.
#pragma once

#include <torch/types.h>

#include "collectives/communicator.hpp"
#include "collectives/scatter_gather.hpp"
#include "collectives/steps.hpp"
#include "kernels/buffer.hpp"
#include "kernels/error.hpp"

namespace scalebench {

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
