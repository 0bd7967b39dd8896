// SPDX-License-Identifier: Apache-2.0
// Owning, page-aligned memory on the host or on the current device, handed out as Spans.
// Page alignment matters: memcpy between buffers that differ by a few bytes modulo 4096 can be
// ten times slower (store-to-load aliasing).
#pragma once

#include <cstddef>

#include "kernels/span.hpp"

namespace scalebench {

class Buffer {
 public:
  Buffer() = default;
  /// Zeroed memory for `count` elements (0 is allowed). Throws Error with the bytes that were
  /// asked for when there is not enough, Unavailable for device memory in a build without CUDA.
  Buffer(std::size_t count, DType dtype, Memory memory = Memory::host);
  ~Buffer();
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  Span span() const { return span_; }
  std::size_t bytes() const { return span_.bytes(); }

 private:
  Span span_;
};

/// Bytes of host memory that can be given out without swapping; the largest number where the system
/// does not say.
std::size_t host_bytes_available();

/// Size of this host's last-level cache; 64 MiB where the system does not say.
std::size_t host_cache_bytes();

/// Copies between any two memories; equal counts and dtypes, else Error. Blocks until done.
void copy(ConstSpan from, Span to);

}  // namespace scalebench
