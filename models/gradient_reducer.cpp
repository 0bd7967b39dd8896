// SPDX-License-Identifier: Apache-2.0
#include "models/gradient_reducer.hpp"

#include "kernels/cast.hpp"
#include "kernels/device.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

const AllreduceAlgorithm& required(const AllreduceAlgorithm* allreduce) {
  if (allreduce == nullptr) fail<UsageError>("this gradient sync needs an allreduce");
  return *allreduce;
}

/// The part of `all` that `part` is of `whole`.
Span same_part(Span all, Span whole, Span part) {
  const auto first = static_cast<std::size_t>(part.data - whole.data) / size_of(whole.dtype);
  return all.part(first, part.count);
}

}  // namespace

GradientReducer::GradientReducer(const GradientSyncInputs& inputs, Span gradients)
    : communicator_(inputs.communicator),
      allreduce_(required(inputs.allreduce)),
      wire_(inputs.options.wire),
      gradients_(gradients) {
  if (gradients.memory != communicator_.memory()) {
    staging_ = Buffer(gradients.count, gradients.dtype, communicator_.memory());
  }
  if (wire_ != DType::float32) narrow_ = communicator_.window(gradients.count, wire_);
}

void GradientReducer::average(Span part) {
  if (staging_.bytes() == 0) {
    average_wire(part);
    return communicator_.wait();
  }
  const Span staged = same_part(staging_.span(), gradients_, part);
  copy(part, staged);
  average_wire(staged);
  communicator_.wait();
  copy(staged, part);
}

void GradientReducer::enqueue(Span part) {
  if (staging_.bytes() > 0)
    fail("gradients in another memory than {}'s", communicator_.transport());
  average_wire(part);
}

void GradientReducer::average_wire(Span part) {
  if (wire_ == DType::float32) {
    allreduce_.run(communicator_, part, part, ReduceOp::avg);
  } else {
    const Span whole = staging_.bytes() == 0 ? gradients_ : staging_.span();
    const Span sent = same_part(narrow_.span, whole, part);
    cast(part, sent, communicator_.stream());
    // Divided first, as PyTorch's compression hook does: a sum of many halves could overflow.
    communicator_.scale(sent, 1.0 / communicator_.size());
    allreduce_.run(communicator_, sent, sent, ReduceOp::sum);
    cast(sent, part, communicator_.stream());
  }
}

void average_now(GradientReducer& reducer, Span part, StepTrace& trace) {
  // The communicator has a stream of its own, which knows nothing of LibTorch's.
  if (part.memory == Memory::device) device_synchronize();
  trace.posted(Exchange::collective);
  reducer.average(part);
  trace.ended();
}

}  // namespace scalebench
