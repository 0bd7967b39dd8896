// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "kernels/error.hpp"

namespace scalebench {

/// A file descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }

  int number() const { return number_; }
  bool is_open() const { return number_ >= 0; }

 private:
  int number_;
};

/// What is written at one end is read at the other; children do not have it.
class Pipe {
 public:
  Pipe() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) fail("no pipe: {}", std::strerror(errno));
    reading_ = Descriptor(ends[0]);
    writing_ = Descriptor(ends[1]);
  }
  int reading() const { return reading_.number(); }
  int writing() const { return writing_.number(); }
  void close_writing() { writing_ = Descriptor(); }

 private:
  Descriptor reading_, writing_;
};

}  // namespace scalebench
