// SPDX-License-Identifier: Apache-2.0
// Lays the views out, and checks them.
#include "models/gradient_bucket.hpp"

#include "kernels/buffer.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

std::size_t total(const std::vector<torch::Tensor>& parameters) {
  std::size_t count = 0;
  for (const auto& parameter : parameters) count += static_cast<std::size_t>(parameter.numel());
  return count;
}

Memory memory_of(const torch::Tensor& tensor) {
  return tensor.is_cuda() ? Memory::device : Memory::host;
}

Window window_for(std::size_t count, Memory memory, Communicator& communicator) {
  if (memory == communicator.memory()) return communicator.window(count, DType::float32);
  const auto buffer = std::make_shared<Buffer>(count, DType::float32, memory);
  return {buffer->span(), buffer};
}

}  // namespace

GradientBucket::GradientBucket(const std::vector<torch::Tensor>& parameters,
                               Communicator& communicator)
    : parameters_(parameters),
      window_(window_for(total(parameters), memory_of(parameters.at(0)), communicator)) {
  const Span all = window_.span;
  const auto options = torch::TensorOptions().dtype(torch::kFloat32).device(parameters[0].device());
  flat_ = torch::from_blob(all.data, {static_cast<std::int64_t>(all.count)}, options);
  std::int64_t first = 0;
  for (const auto& parameter : parameters_) {
    if (parameter.scalar_type() != torch::kFloat32) {
      fail("gradients of type {}: only float32 can be synchronised",
           c10::toString(parameter.scalar_type()));
    }
    parameter.mutable_grad() = flat_.narrow(0, first, parameter.numel()).view(parameter.sizes());
    first += parameter.numel();
  }
}

GradientBucket::~GradientBucket() {
  for (const auto& parameter : parameters_) parameter.mutable_grad().reset();
}

Span GradientBucket::gradients() const {
  const std::byte* expected = window_.span.data;
  for (const auto& parameter : parameters_) {
    const auto& gradient = parameter.grad();
    if (!gradient.defined() || gradient.data_ptr() != expected) {
      fail("the gradient of a parameter of {} numbers no longer lies in the flat buffer",
           parameter.numel());
    }
    expected += gradient.nbytes();
  }
  return window_.span;
}

}  // namespace scalebench
