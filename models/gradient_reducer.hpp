// SPDX-License-Identifier: Apache-2.0
// Means of gradients over the ranks: through host memory where the transport only reaches that, and
// narrower on the wire where that is asked for.
#pragma once

#include "collectives/allreduce.hpp"
#include "kernels/buffer.hpp"
#include "models/gradient_sync.hpp"

namespace scalebench {

class GradientReducer {
 public:
  /// `gradients`: a span of the buffer that all later ones are parts of. Throws UsageError without
  /// an allreduce.
  GradientReducer(const GradientSyncInputs& inputs, Span gradients);

  /// Collective: `part` becomes its mean over the ranks. It has returned when that is done. Does
  /// not say so to the trace. Gradients on a device must be complete there.
  void average(Span part);

  /// The same, only enqueued on the communicator's stream, in whose memory the gradients must be.
  void enqueue(Span part);

  std::string_view algorithm() const { return allreduce_.name; }

 private:
  void average_wire(Span part);

  Communicator& communicator_;
  const AllreduceAlgorithm& allreduce_;
  DType wire_;
  Span gradients_;
  Buffer staging_;  // float32, in the communicator's memory, if that is not the gradients'
  Window narrow_;   // in the wire's type, if that is not float32
};

/// The same between posted() and ended() of the trace, after the device has made the gradients.
void average_now(GradientReducer& reducer, Span part, StepTrace& trace);

}  // namespace scalebench
