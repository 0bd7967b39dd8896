// SPDX-License-Identifier: Apache-2.0
// Memory that a transport lends to an algorithm: it grows to the largest request and stays, so that
// nothing is allocated once a case has warmed up.
#pragma once

#include <cstddef>

#include "kernels/buffer.hpp"

namespace scalebench {

class ScratchBuffer {
 public:
  explicit ScratchBuffer(Memory memory) : memory_(memory) {}

  /// `count` elements of `dtype` with undefined content, valid until the next call.
  Span get(std::size_t count, DType dtype) {
    const std::size_t doubles = (count * size_of(dtype) + sizeof(double) - 1) / sizeof(double);
    if (doubles > buffer_.span().count) buffer_ = Buffer(doubles, DType::float64, memory_);
    return {buffer_.span().data, count, dtype, memory_};
  }

 private:
  Memory memory_;
  Buffer buffer_;
};

}  // namespace scalebench
