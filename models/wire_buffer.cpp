// SPDX-License-Identifier: Apache-2.0
#include "models/wire_buffer.hpp"

#include "kernels/buffer.hpp"
#include "kernels/cast.hpp"
#include "kernels/device.hpp"

namespace scalebench {

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
