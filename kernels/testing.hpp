// SPDX-License-Identifier: Apache-2.0
// What tests on a card begin with.
#pragma once

#include <grp.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/buffer.hpp"
#include "kernels/device.hpp"
#include "kernels/dtype.hpp"
#include "kernels/error.hpp"

namespace scalebench {

/// Skips, visibly and with the reason, where there is no device.
class Device : public testing::Test {
 protected:
  void SetUp() override {
    if (device_count() == 0) GTEST_SKIP() << why_no_device();
    select_device(0);
  }
};

// For tests of every room: a fresh folder that is gone, with everything in it, at the end of the
// scope.

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "scalebench-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) fail("cannot make the folder {}", name);
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }

  /// Writes a file, with the folders above it, and returns its path.
  std::filesystem::path write(std::string_view name, std::string_view text) const {
    const std::filesystem::path file = path_ / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
    return file;
  }
  std::string read(std::string_view name) const {
    std::ifstream file(path_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }

 private:
  std::filesystem::path path_;
};

/// The message of the Kind that `call` throws; empty when it throws none.
template <class Kind, class Call>
std::string message_of(Call call) {
  try {
    call();
  } catch (const Kind& error) {
    return error.what();
  }
  return "";
}

// Another user of this host.

inline constexpr const char* kNoOtherUser =
    "only root can be another user here: run the tests as root for this one";

/// What `call` returns (0 to 250) in a child of this process that is the user nobody, in no group
/// but its own; 251: it threw. Empty where this process may not become one.
inline std::optional<int> as_another_user(const std::function<int()>& call) {
  constexpr unsigned kNobody = 65534;
  constexpr int kThrew = 251, kMayNot = 252;
  const pid_t child = ::fork();
  if (child < 0) fail("fork: {}", std::strerror(errno));
  if (child == 0) {
    int code = kMayNot;
    if (::setgroups(0, nullptr) == 0 && ::setresgid(kNobody, kNobody, kNobody) == 0 &&
        ::setresuid(kNobody, kNobody, kNobody) == 0) {
      try {
        code = call();
      } catch (...) {
        code = kThrew;
      }
    }
    ::_exit(code);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return code == kMayNot ? std::nullopt : std::optional(code);
}

// For tests: spans of any dtype, size, alignment and memory, filled and read as doubles.

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

  /// A copy on the host, margins and all.
  TestSpan on_host() const {
    TestSpan result(span_.count, span_.dtype, shift());
    copy(buffer_.span(), result.buffer_.span());
    return result;
  }

  /// True while the elements before and behind the span are still zero.
  bool margins_are_zero() const {
    if (span_.memory == Memory::device) return on_host().margins_are_zero();
    const std::span<const std::byte> all(buffer_.span().data, buffer_.bytes());
    const std::size_t before = shift() * size_of(span_.dtype);
    const auto zero = [](std::byte value) { return value == std::byte{0}; };
    return std::ranges::all_of(all.first(before), zero) &&
           std::ranges::all_of(all.subspan(before + span_.bytes()), zero);
  }

 private:
  /// In elements.
  std::size_t shift() const {
    return static_cast<std::size_t>(span_.data - buffer_.span().data) / size_of(span_.dtype);
  }

  Buffer buffer_;
  Span span_;
};

/// GoogleTest names parameters with this.
inline void PrintTo(DType dtype, std::ostream* out) { *out << name_of(dtype); }

/// Small integers, different from element to element; exact in every dtype.
inline double small_integer(std::size_t i) { return static_cast<double>(i * 7 % 23) - 11; }

}  // namespace scalebench
