// SPDX-License-Identifier: Apache-2.0
// Host memory is refused before it is touched: Linux hands out more than it has and kills the
// process on first use, which would lose a whole study instead of one row.
#include "kernels/buffer.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <limits>
#include <string>
#include <utility>

#include "kernels/device.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

constexpr std::size_t kPage = 4096;

std::byte* host_allocate(std::size_t bytes, Pages pages) {
  const bool large = bytes >= 2 * kHugePageBytes;
  const bool huge = large && pages == Pages::huge;
  const std::size_t alignment = huge ? kHugePageBytes : kPage;
  if (large && bytes > host_bytes_available()) {
    fail("out of host memory: {} bytes asked for, {} available", bytes, host_bytes_available());
  }
  void* memory = nullptr;
  if (posix_memalign(&memory, alignment, bytes) != 0) {
    fail("out of host memory: {} bytes asked for, {} available", bytes, host_bytes_available());
  }
#ifdef MADV_HUGEPAGE
  // Only a hint: fewer TLB misses, and timings that depend less on which pages came.
  if (huge) {
    static_cast<void>(madvise(memory, bytes / kHugePageBytes * kHugePageBytes, MADV_HUGEPAGE));
  }
#endif
  std::memset(memory, 0, bytes);  // touches every page, on the NUMA node of this thread
  return static_cast<std::byte*>(memory);
}

std::byte* device_allocate_zeroed(std::size_t bytes) {
  void* memory = device_allocate(bytes);
  try {
    device_zero(memory, bytes);
  } catch (...) {
    device_free(memory);
    throw;
  }
  return static_cast<std::byte*>(memory);
}

bool overlap(ConstSpan a, ConstSpan b) {
  if (a.empty() || b.empty()) return false;
  // std::less orders pointers into different arrays; the built-in < does not promise to.
  const std::less<const std::byte*> before;
  return before(a.data, b.data + b.bytes()) && before(b.data, a.data + a.bytes());
}

}  // namespace

Buffer::Buffer(std::size_t count, DType dtype, Memory memory, Pages pages)
    : span_{nullptr, count, dtype, memory} {
  if (count > std::numeric_limits<std::size_t>::max() / size_of(dtype)) {
    fail("{} elements of {} are more bytes than can be addressed", count, name_of(dtype));
  }
  if (memory == Memory::device) {
    span_.data = device_allocate_zeroed(std::max<std::size_t>(bytes(), 1));
  } else if (count > 0) {
    span_.data = host_allocate(bytes(), pages);
  }
}

Buffer::~Buffer() {
  if (span_.memory == Memory::device) {
    device_free(span_.data);
  } else {
    std::free(span_.data);
  }
}

Buffer::Buffer(Buffer&& other) noexcept : span_(std::exchange(other.span_, Span{})) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(span_, other.span_);
  return *this;
}

std::size_t host_bytes_available() {
  std::ifstream meminfo("/proc/meminfo");
  std::string key, unit;
  std::size_t kib = 0;
  while (meminfo >> key >> kib) {
    if (key == "MemAvailable:") return kib * 1024;
    std::getline(meminfo, unit);
  }
  return std::numeric_limits<std::size_t>::max();
}

std::string_view name_of(Pages pages) { return pages == Pages::huge ? "huge" : "default"; }

std::optional<double> huge_page_share(ConstSpan span) {
  if (span.memory == Memory::device || span.empty()) return std::nullopt;
  // A mapping's first line is "55d0-55f0 rw-p 00000000 00:00 0 [heap]"; lines such as
  // "AnonHugePages:  2048 kB" follow. Neighbours may be one mapping, whose share is taken for each.
  std::ifstream smaps("/proc/self/smaps");
  const auto first = reinterpret_cast<std::uintptr_t>(span.data);
  const std::uintptr_t last = first + span.bytes();
  double here = 0, resident = 0, huge = 0, known = 0, in_huge = 0;
  const auto end_of_mapping = [&] {
    if (resident <= 0) return;
    known += here;
    in_huge += here * std::min(1.0, huge / resident);
  };
  for (std::string line; std::getline(smaps, line);) {
    std::uintptr_t begin = 0, end = 0;
    double kib = 0;
    std::array<char, 32> key{};
    if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR " ", &begin, &end) == 2) {
      end_of_mapping();
      const std::uintptr_t from = std::max(begin, first), to = std::min(end, last);
      here = from < to ? static_cast<double>(to - from) : 0;
      resident = huge = 0;
    } else if (here > 0 && std::sscanf(line.c_str(), "%31[^:]: %lf", key.data(), &kib) == 2) {
      const std::string_view name = key.data();
      if (name == "Rss") resident = kib;
      if (name == "AnonHugePages" || name == "ShmemPmdMapped") huge += kib;
    }
  }
  end_of_mapping();
  if (known <= 0) return std::nullopt;
  return in_huge / known;
}

std::string why_no_huge_pages(bool shared) {
  const std::string file = shared ? "shmem_enabled" : "enabled";
  std::ifstream stream("/sys/kernel/mm/transparent_hugepage/" + file);
  if (!stream) return "this system has no transparent huge pages";
  for (std::string word; stream >> word;) {
    if (word == "[never]" || word == "[deny]") {
      return fmt::format("transparent_hugepage/{} is {}", file, word.substr(1, word.size() - 2));
    }
  }
  return "";
}

std::size_t host_cache_bytes() {
  // What the kernel says comes first: in a virtual machine sysconf may tell the whole socket's.
  std::ifstream size("/sys/devices/system/cpu/cpu0/cache/index3/size");
  std::size_t kib = 0;
  char unit = 0;
  if (size >> kib >> unit && unit == 'K' && kib > 0) return kib * 1024;
  const long bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
  return bytes > 0 ? static_cast<std::size_t>(bytes) : std::size_t{64} << 20U;
}

void copy(ConstSpan from, Span to) {
  if (from.count != to.count || from.dtype != to.dtype) {
    fail("copy: spans differ: {} and {}", describe(from), describe(to));
  }
  if (from.empty()) return;
  if (from.memory == Memory::host && to.memory == Memory::host) {
    std::memmove(to.data, from.data, to.bytes());
  } else {
    device_copy(from.data, to.data, to.bytes());
  }
}

std::string describe(ConstSpan span) {
  return fmt::format("{} x {} on the {}", span.count, name_of(span.dtype),
                     span.memory == Memory::host ? "host" : "device");
}

void require_same_count(std::string_view kernel, ConstSpan a, ConstSpan b) {
  if (a.count != b.count || a.memory != b.memory) {
    fail("{}: spans differ: {} and {}", kernel, describe(a), describe(b));
  }
  const bool same = a.data == b.data && a.dtype == b.dtype;
  if (!same && overlap(a, b)) {
    fail("{}: spans overlap in part: {} and {}", kernel, describe(a), describe(b));
  }
}

void require_alike(std::string_view kernel, ConstSpan a, ConstSpan b) {
  if (a.dtype != b.dtype) fail("{}: spans differ: {} and {}", kernel, describe(a), describe(b));
  require_same_count(kernel, a, b);
}

void require_apart(std::string_view kernel, ConstSpan a, ConstSpan b) {
  if (a.memory != b.memory) fail("{}: spans differ: {} and {}", kernel, describe(a), describe(b));
  if (overlap(a, b)) fail("{}: spans overlap: {} and {}", kernel, describe(a), describe(b));
}

}  // namespace scalebench
