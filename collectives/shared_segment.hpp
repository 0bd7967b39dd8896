// SPDX-License-Identifier: Apache-2.0
// Memory that several processes of one host map at once: an anonymous file in memory, which needs
// no room in /dev/shm, has no name to clash or to be left behind, and is gone with its last user.
#pragma once

#include <cstddef>
#include <utility>

namespace scalebench {

class SharedSegment {
 public:
  SharedSegment() = default;
  /// Zeroed memory of this process, all of it really there. Throws Error with the bytes asked for
  /// when there is not enough.
  explicit SharedSegment(std::size_t bytes);
  /// The segment behind the open descriptor `descriptor` of process `pid`. Throws Error when this
  /// process may not open it.
  SharedSegment(int pid, int descriptor, std::size_t bytes);
  ~SharedSegment();
  SharedSegment(SharedSegment&& other) noexcept { swap(other); }
  SharedSegment& operator=(SharedSegment&& other) noexcept {
    swap(other);
    return *this;
  }

  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  /// What peers open; -1 once closed.
  int descriptor() const { return descriptor_; }
  /// All peers have opened it: the mappings stay, the descriptor goes.
  void close_descriptor();

 private:
  void map();
  void swap(SharedSegment& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(descriptor_, other.descriptor_);
  }

  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  int descriptor_ = -1;
};

}  // namespace scalebench
