// SPDX-License-Identifier: Apache-2.0
// Owning, page-aligned memory on the host or on the current device, handed out as Spans.
// Page alignment matters: memcpy between buffers that differ by a few bytes modulo 4096 can be
// ten times slower (store-to-load aliasing).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/device.hpp"
#include "kernels/dtype.hpp"

namespace scalebench {

// A type-erased run of numbers somewhere: pointer, element count, dtype, and which memory it is in.
// One Span type instead of a template per dtype keeps every algorithm a plain function.

enum class Memory : std::uint8_t { host, device };

/// Of what pages a piece of host memory is made: those that every program gets that asks for
/// nothing, or huge ones, asked for with madvise. Device memory has neither.
enum class Pages : std::uint8_t { standard, huge };

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

/// A host span over a contiguous range of one of the five number types.
template <class T>
Span span_of(std::span<T> values) {
  return {reinterpret_cast<std::byte*>(values.data()), values.size(), kDTypeOf<T>, Memory::host};
}

class Buffer {
 public:
  Buffer() = default;
  /// Zeroed memory for `count` elements (0 is allowed). Throws Error with the bytes that were
  /// asked for when there is not enough, Unavailable for device memory in a build without CUDA.
  /// Huge pages are for buffers of at least two of them; the system may refuse, without a word.
  Buffer(std::size_t count, DType dtype, Memory memory = Memory::host, Pages pages = Pages::huge);
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

/// The folders of the control groups (version 1 or 2) that govern this process for `controller`
/// (`memory`, `cpu`): its own first, then its parents' as far as they can be seen here. Not all
/// need to be there. `root` is another folder than / in tests only.
std::vector<std::string> control_groups(std::string_view controller, const std::string& root = "/");

/// The numbers of the hardware threads that this thread may run on: of those online, what a control
/// group or taskset leaves. Never empty.
std::vector<int> usable_cpus();

/// Bytes of host memory that can be given out without swapping: what the system has, and no more
/// than each control group of this process still allows, where file cache that can be taken back
/// counts as free, as in the system's own number. The largest number where nobody says.
std::size_t host_bytes_available(const std::string& root = "/");

/// Size of this host's last-level cache; 64 MiB where the system does not say.
std::size_t host_cache_bytes();

/// Copies between any two memories; equal counts and dtypes, else Error. Blocks until done. Where
/// one is on a device, the copy is in order on `stream`: work on other streams, such as LibTorch's
/// kernels, is not waited for unless it is the default one.
void copy(ConstSpan from, Span to, DeviceStream stream = {});

// What every kernel asks of its spans before it touches them. A wrong span is a mistake in the
// calling code, so that these throw Error, with both spans described.

/// "1000 x half on the host".
std::string describe(ConstSpan span);

/// Equal counts and memories, and either the very same elements or none in common.
void require_same_count(std::string_view kernel, ConstSpan a, ConstSpan b);

/// As require_same_count, and equal dtypes.
void require_alike(std::string_view kernel, ConstSpan a, ConstSpan b);

/// Equal memories, and no byte in common.
void require_apart(std::string_view kernel, ConstSpan a, ConstSpan b);

}  // namespace scalebench
