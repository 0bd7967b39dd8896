// SPDX-License-Identifier: Apache-2.0
#include "models/gradients/wire.hpp"

#include "kernels/buffer.hpp"
#include "kernels/device.hpp"
#include "kernels/elementwise.hpp"

namespace scalebench {

Span span_of_tensor(const torch::Tensor& tensor) {
  const auto type = [&] {
    switch (tensor.scalar_type()) {
      case torch::kFloat32:
        return DType::float32;
      case torch::kFloat64:
        return DType::float64;
      case torch::kInt32:
        return DType::int32;
      case torch::kFloat16:
        return DType::float16;
      case torch::kBFloat16:
        return DType::bfloat16;
      default:
        fail("tensors of type {} cannot be sent", c10::toString(tensor.scalar_type()));
    }
  }();
  if (!tensor.is_contiguous()) fail("a tensor that is sent must be contiguous");
  return {static_cast<std::byte*>(tensor.data_ptr()), static_cast<std::size_t>(tensor.numel()),
          type, tensor.is_cuda() ? Memory::device : Memory::host};
}

void broadcast_tensor(StagedExchange& ranks, torch::Tensor& tensor, int root) {
  if (tensor.scalar_type() == torch::kFloat32 && tensor.is_contiguous()) {
    return ranks.broadcast(span_of_tensor(tensor), root);
  }
  const torch::Tensor sent = tensor.to(torch::kFloat64).contiguous();
  ranks.broadcast(span_of_tensor(sent), root);
  tensor.copy_(sent);
}

WireBuffer::WireBuffer(Communicator& communicator, Span flat, DType wire)
    : communicator_(communicator), flat_(flat), full_(flat) {
  if (flat.memory != communicator.memory()) {
    staging_ = communicator.window(flat.count, flat.dtype);
    full_ = staging_.span;
  }
  if (wire != DType::float32) narrow_ = communicator.window(flat.count, wire);
}

void WireBuffer::load(Range range) {
  // The communicator has a stream of its own, which knows nothing of LibTorch's.
  if (flat_.memory == Memory::device) device_synchronize();
  const Span part = full_.part(range.first, range.count);
  if (staging_.owner) copy(flat_.part(range.first, range.count), part);
  if (narrow_.owner) {
    cast(part, narrow_.span.part(range.first, range.count), communicator_.stream());
  }
}

void WireBuffer::store(Range range) {
  const Span part = full_.part(range.first, range.count);
  if (narrow_.owner) {
    cast(narrow_.span.part(range.first, range.count), part, communicator_.stream());
  }
  communicator_.wait();
  if (staging_.owner) copy(part, flat_.part(range.first, range.count));
}

}  // namespace scalebench
