// SPDX-License-Identifier: Apache-2.0
// A type-erased run of numbers somewhere: pointer, element count, dtype, and which memory it is in.
// One Span type instead of a template per dtype keeps every algorithm a plain function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/dtype.hpp"

namespace scalebench {

enum class Memory : std::uint8_t { host, device };

/// Read-only view of `count` elements of `dtype`. Does not own its memory.
struct ConstSpan {
  const std::byte* data = nullptr;
  std::size_t count = 0;
  DType dtype = DType::float32;
  Memory memory = Memory::host;

  std::size_t bytes() const { return count * size_of(dtype); }
  bool empty() const { return count == 0; }
  /// Elements [first, first + length); both in elements, unchecked.
  ConstSpan part(std::size_t first, std::size_t length) const {
    return {data + first * size_of(dtype), length, dtype, memory};
  }
  /// The elements as T; the caller knows that dtype is T's and memory is host.
  template <class T>
  std::span<const T> as() const {
    return {reinterpret_cast<const T*>(data), count};
  }
};

/// Writable view of `count` elements of `dtype`. Does not own its memory.
struct Span {
  std::byte* data = nullptr;
  std::size_t count = 0;
  DType dtype = DType::float32;
  Memory memory = Memory::host;

  std::size_t bytes() const { return count * size_of(dtype); }
  bool empty() const { return count == 0; }
  Span part(std::size_t first, std::size_t length) const {
    return {data + first * size_of(dtype), length, dtype, memory};
  }
  template <class T>
  std::span<T> as() const {
    return {reinterpret_cast<T*>(data), count};
  }
  operator ConstSpan() const { return {data, count, dtype, memory}; }
};

/// Host spans over a contiguous range of one of the five number types.
template <class T>
Span span_of(std::span<T> values) {
  return {reinterpret_cast<std::byte*>(values.data()), values.size(), kDTypeOf<T>, Memory::host};
}
template <class T>
ConstSpan const_span_of(std::span<const T> values) {
  return {reinterpret_cast<const std::byte*>(values.data()), values.size(), kDTypeOf<T>,
          Memory::host};
}

}  // namespace scalebench
