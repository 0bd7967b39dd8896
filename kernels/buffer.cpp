// SPDX-License-Identifier: Apache-2.0
// Host memory is refused before it is touched: Linux hands out more than it has and kills the
// process on first use, which would lose a whole study instead of one row.
#include "kernels/buffer.hpp"

#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "kernels/error.hpp"

namespace scalebench {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPage = 4096;
constexpr std::size_t kHugePageBytes = std::size_t{2} << 20U;

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

/// Whether a list with commas names `word`.
bool lists(const std::string& list, std::string_view word) {
  std::istringstream words(list);
  for (std::string one; std::getline(words, one, ',');) {
    if (one == word) return true;
  }
  return false;
}

/// Empty where there is no such file, or where it says "max".
std::optional<std::size_t> number_in(const fs::path& file) {
  std::ifstream stream(file);
  std::size_t number = 0;
  return stream >> number ? std::optional(number) : std::nullopt;
}

/// What a control group's limit leaves; the largest number where it sets none. Version 2 has two:
/// above memory.max processes are killed, above memory.high they are stopped again and again.
std::size_t allowed_by(const fs::path& group) {
  constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();
  const auto version1 = number_in(group / "memory.limit_in_bytes");
  const std::size_t limit =
      std::min({version1.value_or(kNoLimit), number_in(group / "memory.max").value_or(kNoLimit),
                number_in(group / "memory.high").value_or(kNoLimit)});
  const auto used = number_in(group / (version1 ? "memory.usage_in_bytes" : "memory.current"));
  if (limit == kNoLimit || !used) return kNoLimit;
  // Version 1 counts a group's own processes, and with its children's under another name. Shared
  // memory is in neither list.
  const std::string whose = version1 ? "total_" : "";
  std::size_t reclaimable = 0;
  std::ifstream stat(group / "memory.stat");
  std::string key;
  for (std::size_t bytes = 0; stat >> key >> bytes;) {
    const bool cache = key == whose + "active_file" || key == whose + "inactive_file";
    if (cache || key == "slab_reclaimable") reclaimable += bytes;
  }
  const std::size_t kept = *used - std::min(*used, reclaimable);
  return limit - std::min(limit, kept);
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

std::vector<std::string> control_groups(std::string_view controller, const std::string& root) {
  // "4:cpu,cpuacct:/path" is a hierarchy of version 1, "0::/path" that of version 2.
  std::optional<fs::path> of_version1, of_version2;
  std::ifstream own(fs::path(root) / "proc/self/cgroup");
  std::string number, controllers, path;
  while (std::getline(own, number, ':') && std::getline(own, controllers, ':') &&
         std::getline(own, path)) {
    if (controllers.empty()) of_version2 = path;
    if (lists(controllers, controller)) of_version1 = path;
  }
  // "36 35 0:31 /docker/1 /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory": that group is what a
  // container sees there, while the paths above may be the host's.
  std::vector<std::string> folders;
  std::ifstream mounts(fs::path(root) / "proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    const std::size_t dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    std::istringstream what(line.substr(0, dash)), how(line.substr(dash + 3));
    std::string id, parent, device, top, place, type, source, options;
    what >> id >> parent >> device >> top >> place;
    how >> type >> source >> options;
    const bool version1 = type == "cgroup" && lists(options, controller);
    const auto& group = version1 ? of_version1 : of_version2;
    if ((!version1 && type != "cgroup2") || !group) continue;
    fs::path inside = group->lexically_relative(top);
    // Of one that lies elsewhere only what is mounted can be seen.
    if (inside.empty() || inside == "." || *inside.begin() == "..") inside.clear();
    while (true) {
      folders.push_back(fs::path(root) / fs::path(place).relative_path() / inside);
      if (inside.empty()) break;
      inside = inside.parent_path();
    }
  }
  return folders;
}

std::size_t host_bytes_available(const std::string& root) {
  std::size_t least = std::numeric_limits<std::size_t>::max();
  std::ifstream meminfo(fs::path(root) / "proc/meminfo");
  std::string key, unit;
  for (std::size_t kib = 0; meminfo >> key >> kib; std::getline(meminfo, unit)) {
    if (key == "MemAvailable:") least = kib * 1024;
  }
  for (const std::string& group : control_groups("memory", root)) {
    least = std::min(least, allowed_by(group));
  }
  return least;
}

std::vector<int> usable_cpus() {
  std::array<cpu_set_t, 8> sets{};  // 8192 processors, as many as kernels are built for
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof sets, sets.data()) == 0) {
    for (std::size_t cpu = 0; cpu < sizeof sets * 8; ++cpu) {
      if (CPU_ISSET_S(cpu, sizeof sets, sets.data())) cpus.push_back(static_cast<int>(cpu));
    }
  }
  const auto online = static_cast<std::size_t>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
  if (cpus.empty()) {  // whatever hides them
    cpus.resize(online);
    std::iota(cpus.begin(), cpus.end(), 0);
  }
  if (cpus.size() > online) cpus.resize(online);
  return cpus;
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

void copy(ConstSpan from, Span to, DeviceStream stream) {
  if (from.count != to.count || from.dtype != to.dtype) {
    fail("copy: spans differ: {} and {}", describe(from), describe(to));
  }
  if (from.empty()) return;
  if (from.memory == Memory::host && to.memory == Memory::host) {
    std::memmove(to.data, from.data, to.bytes());
  } else {
    device_copy_done(from.data, to.data, to.bytes(), stream);
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
