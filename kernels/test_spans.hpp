// SPDX-License-Identifier: Apache-2.0
// For tests: spans of any dtype, size, alignment and memory, filled and read as doubles.
#pragma once

#include <array>
#include <cstddef>
#include <ostream>
#include <vector>

#include "kernels/buffer.hpp"
#include "kernels/dtype.hpp"
#include "kernels/number.hpp"
#include "kernels/span.hpp"

namespace scalebench {

/// Around every vector width, and large enough for many blocks of threads.
inline constexpr std::array<std::size_t, 7> kTestSizes{0, 1, 7, 8, 63, 64, 1'000'003};
/// Elements that a span starts after an aligned address.
inline constexpr std::array<std::size_t, 3> kTestShifts{0, 1, 5};

template <class T>
T number_from(double value) {
  return static_cast<T>(converted<T, double>(value));
}

template <class T>
double number_to_double(T value) {
  return static_cast<double>(static_cast<ComputeType<T>>(value));
}

/// A buffer with room before and behind, to start unaligned.
class TestSpan {
 public:
  TestSpan(std::size_t count, DType dtype, std::size_t shift = 0, Memory memory = Memory::host)
      : buffer_(count + 16, dtype, memory), span_(buffer_.span().part(shift, count)) {}

  Span get() const { return span_; }
  operator Span() const { return span_; }
  operator ConstSpan() const { return span_; }

  /// Element i becomes function(i), rounded to the dtype.
  template <class Function>
  TestSpan& fill(Function function) {
    const Buffer host(span_.count, span_.dtype);
    with_type(span_.dtype, [&]<class T>() {
      std::size_t i = 0;
      for (T& value : host.span().as<T>()) value = number_from<T>(function(i++));
    });
    copy(host.span(), span_);
    return *this;
  }

  std::vector<double> values() const {
    const Buffer host(span_.count, span_.dtype);
    copy(span_, host.span());
    std::vector<double> result;
    result.reserve(span_.count);
    with_type(span_.dtype, [&]<class T>() {
      for (const T value : host.span().as<T>()) result.push_back(number_to_double(value));
    });
    return result;
  }

  /// True while the elements before and behind the span are still zero.
  bool margins_are_zero() const {
    const Buffer host(buffer_.span().count, span_.dtype);
    copy(buffer_.span(), host.span());
    const auto shift = static_cast<std::size_t>(span_.data - buffer_.span().data);
    for (std::size_t i = 0; i < host.bytes(); ++i) {
      const bool inside = i >= shift && i < shift + span_.bytes();
      if (!inside && host.span().data[i] != std::byte{0}) return false;
    }
    return true;
  }

 private:
  Buffer buffer_;
  Span span_;
};

/// GoogleTest names parameters with this.
inline void PrintTo(DType dtype, std::ostream* out) { *out << name_of(dtype); }

/// Small integers, different from element to element; exact in every dtype.
inline double small_integer(std::size_t i) { return static_cast<double>(i * 7 % 23) - 11; }

}  // namespace scalebench
