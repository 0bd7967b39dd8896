// SPDX-License-Identifier: Apache-2.0
#include "bench/machine/host_files.hpp"

#include <fmt/ranges.h>
#include <hwloc.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <fstream>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <system_error>
#include <type_traits>

#include "kernels/error.hpp"

#ifdef __x86_64__
#include <cpuid.h>

#include <cstring>
#include <string_view>
#include <utility>
#endif

namespace scalebench {
namespace {

namespace fs = std::filesystem;

/// A limit of one group; its parents' limits hold as well.
std::optional<double> quota_of(const fs::path& group) {
  double quota = -1;
  double period = 0;
  if (std::ifstream v2(group / "cpu.max"); v2 >> quota >> period) return quota / period;
  std::ifstream v1_quota(group / "cpu.cfs_quota_us");
  std::ifstream v1_period(group / "cpu.cfs_period_us");
  const bool limited = v1_quota >> quota && v1_period >> period && quota > 0 && period > 0;
  return limited ? std::optional(quota / period) : std::nullopt;  // "max" and -1: no limit
}

/// Whether a line of /proc/self/cgroup, "4:cpu,cpuacct:/path" or "0::/path", governs CPU time, and
/// where its controller is mounted by custom.
std::optional<fs::path> mount_of(const std::string& controllers) {
  const fs::path base = "sys/fs/cgroup";
  if (controllers.empty()) return base;
  std::istringstream names(controllers);
  for (std::string name; std::getline(names, name, ',');) {
    if (name == "cpu") return base / controllers;
  }
  return std::nullopt;
}

}  // namespace

Fact cpu_quota(const fs::path& root) {
  std::ifstream groups(root / "proc/self/cgroup");
  if (!groups) return Fact::absent("no /proc/self/cgroup here");
  std::optional<double> least;
  std::string number;
  std::string controllers;
  std::string path;
  while (std::getline(groups, number, ':') && std::getline(groups, controllers, ':') &&
         std::getline(groups, path)) {
    const std::optional<fs::path> mount = mount_of(controllers);
    if (!mount) continue;
    // In a container the path may be the host's and missing here: its parents are still tried.
    fs::path inside = fs::path(path).relative_path();
    while (true) {
      const std::optional<double> quota = quota_of(root / *mount / inside);
      if (quota) least = std::min(least.value_or(*quota), *quota);
      if (inside.empty()) break;
      inside = inside.parent_path();
    }
  }
  return least ? Fact::of(*least) : Fact::of("none");
}

namespace {

std::string trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n\"");
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(" \t\r\n\"") - first + 1));
}

/// The number that `text` begins with.
std::optional<double> leading_number(std::string_view text) {
  double value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  return value;
}

std::optional<double> leading_number(const std::optional<std::string>& text) {
  return text ? leading_number(std::string_view(*text)) : std::nullopt;
}

std::string no_file(const fs::path& file) { return fmt::format("no /{} here", file.string()); }

constexpr const char* kNoFrequencyControl =
    "this kernel or virtual machine shows no frequency control";

}  // namespace

std::optional<std::string> HostFiles::line(const fs::path& file) const {
  std::ifstream stream(root_ / file);
  std::string text;
  if (!std::getline(stream, text)) return std::nullopt;
  return trimmed(text);
}

std::optional<std::string> HostFiles::field(const fs::path& file, std::string_view name,
                                            char separator) const {
  std::ifstream stream(root_ / file);
  for (std::string text; std::getline(stream, text);) {
    const std::size_t at = text.find(separator);
    if (at != std::string::npos && trimmed(text.substr(0, at)) == name) {
      return trimmed(text.substr(at + 1));
    }
  }
  return std::nullopt;
}

Fact HostFiles::line_fact(const fs::path& file) const {
  return Fact::of(line(file), no_file(file));
}

Fact HostFiles::gib_fact(std::string_view name) const {
  const auto kib = leading_number(field("proc/meminfo", name, ':'));
  if (!kib) return Fact::absent(fmt::format("no {} in /proc/meminfo", name));
  return Fact::of(std::round(*kib / 1048576.0 * 10.0) / 10.0);
}

Fact HostFiles::cpu_model() const {
  const fs::path file = "proc/cpuinfo";
  if (const auto name = field(file, "model name", ':')) return Fact::of(*name);
  const auto implementer = field(file, "CPU implementer", ':');
  const auto part = field(file, "CPU part", ':');
  if (implementer && part)
    return Fact::of(fmt::format("implementer {} part {}", *implementer, *part));
  return Fact::absent("/proc/cpuinfo names no model");
}

Fact HostFiles::microcode() const {
  return Fact::of(field("proc/cpuinfo", "microcode", ':'), "/proc/cpuinfo has no microcode");
}

Fact HostFiles::kernel() const { return line_fact("proc/sys/kernel/osrelease"); }

Fact HostFiles::distribution() const {
  return Fact::of(field("etc/os-release", "PRETTY_NAME", '='), no_file("etc/os-release"));
}

Fact HostFiles::container() const {
  std::error_code ignored;
  if (fs::exists(root_ / ".dockerenv", ignored)) return Fact::of("docker");
  if (fs::exists(root_ / "run/.containerenv", ignored)) return Fact::of("podman");
  if (fs::exists(root_ / ".singularity.d", ignored)) return Fact::of("singularity");
  if (const auto manager = line("run/systemd/container")) return Fact::of(*manager);
  return Fact::of("none");
}

Fact HostFiles::memory_gib() const {
  const auto kib = leading_number(field("proc/meminfo", "MemTotal", ':'));
  if (!kib) return Fact::absent("no MemTotal in /proc/meminfo");
  return Fact::of(std::lround(*kib / 1048576.0));
}

Fact HostFiles::available_memory_gib() const { return gib_fact("MemAvailable"); }

Fact HostFiles::swap_used_gib() const {
  const Fact total = gib_fact("SwapTotal");
  const Fact unused = gib_fact("SwapFree");
  if (total.value.is_null()) return total;
  if (unused.value.is_null()) return unused;
  return Fact::of(std::round((total.value.get<double>() - unused.value.get<double>()) * 10) / 10);
}

Fact HostFiles::load_average() const {
  return Fact::of(leading_number(line("proc/loadavg")), no_file("proc/loadavg"));
}

Fact HostFiles::running_processes() const {
  std::error_code error;
  fs::directory_iterator entries(root_ / "proc", error);
  if (error) return Fact::absent("no /proc here");
  const std::string own = std::to_string(::getpid());
  int running = 0;
  for (const fs::directory_entry& entry : entries) {
    const std::string name = entry.path().filename().string();
    if (name == own || name.find_first_not_of("0123456789") != std::string::npos) continue;
    const auto status = line(fs::path("proc") / name / "stat");  // "12 (a (b) c) R 1 ..."
    if (!status) continue;
    const std::size_t close = status->rfind(')');
    if (close != std::string::npos && status->substr(close).starts_with(") R")) ++running;
  }
  return Fact::of(running);
}

Fact HostFiles::uptime_seconds() const {
  return Fact::of(leading_number(line("proc/uptime")), no_file("proc/uptime"));
}

Fact HostFiles::governor() const {
  std::error_code error;
  std::set<std::string> governors;
  const fs::path cpus = "sys/devices/system/cpu";
  for (const fs::directory_entry& entry : fs::directory_iterator(root_ / cpus, error)) {
    const auto one = line(cpus / entry.path().filename() / "cpufreq/scaling_governor");
    if (one) governors.insert(*one);
  }
  if (governors.empty()) return Fact::absent(kNoFrequencyControl);
  return Fact::of(fmt::format("{}", fmt::join(governors, ",")));
}

Fact HostFiles::turbo() const {
  const fs::path cpus = "sys/devices/system/cpu";
  if (const auto off = line(cpus / "intel_pstate/no_turbo")) return Fact::of(*off == "0");
  if (const auto on = line(cpus / "cpufreq/boost")) return Fact::of(*on == "1");
  return Fact::absent(kNoFrequencyControl);
}

Fact HostFiles::transparent_huge_pages() const {
  const fs::path file = "sys/kernel/mm/transparent_hugepage/enabled";
  const auto choices = line(file);  // "always [madvise] never"
  if (!choices) return Fact::absent(no_file(file));
  const std::size_t open = choices->find('[');
  const std::size_t close = choices->find(']');
  if (open == std::string::npos || close == std::string::npos || close < open) {
    return Fact::absent(fmt::format("/{} says '{}'", file.string(), *choices));
  }
  return Fact::of(choices->substr(open + 1, close - open - 1));
}

Fact HostFiles::address_randomization() const {
  const fs::path file = "proc/sys/kernel/randomize_va_space";
  const auto level = leading_number(line(file));
  return level ? Fact::of(std::lround(*level)) : Fact::absent(no_file(file));
}

Fact HostFiles::clock_source() const {
  return line_fact("sys/devices/system/clocksource/clocksource0/current_clocksource");
}

Fact HostFiles::isolated_cpus() const {
  const fs::path file = "sys/devices/system/cpu/isolated";
  const auto list = line(file);
  if (!list) return Fact::absent(no_file(file));
  return Fact::of(list->empty() ? "none" : *list);
}

Fact HostFiles::allowed_cpus() const {
  return Fact::of(field("proc/self/status", "Cpus_allowed_list", ':'), no_file("proc/self/status"));
}

namespace {

using Topology =
    std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, decltype(&hwloc_topology_destroy)>;
using Bitmap = std::unique_ptr<std::remove_pointer_t<hwloc_bitmap_t>, decltype(&hwloc_bitmap_free)>;

Topology load() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) fail("hwloc cannot be initialized");
  Topology topology(raw, hwloc_topology_destroy);
  // The whole machine, also what this process may not use: it is the same for every process.
  const bool loaded = hwloc_topology_set_flags(raw, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED) == 0 &&
                      hwloc_topology_load(raw) == 0;
  if (!loaded) fail("hwloc cannot read the topology of this machine");
  return topology;
}

/// Objects of `type` that share at least one hardware thread with `set`.
int count_in(hwloc_topology_t topology, hwloc_obj_type_t type, hwloc_const_bitmap_t set) {
  int count = 0;
  hwloc_obj_t object = nullptr;
  while ((object = hwloc_get_next_obj_by_type(topology, type, object)) != nullptr) {
    if (hwloc_bitmap_intersects(object->cpuset, set) != 0) ++count;
  }
  return count;
}

}  // namespace

HostTopology host_topology() {
  const Topology topology = load();
  hwloc_topology_t raw = topology.get();
  const auto count = [raw](hwloc_obj_type_t type) { return hwloc_get_nbobjs_by_type(raw, type); };
  HostTopology host;
  host.sockets = count(HWLOC_OBJ_PACKAGE);
  host.cores = count(HWLOC_OBJ_CORE);
  host.hardware_threads = count(HWLOC_OBJ_PU);
  host.numa_nodes = count(HWLOC_OBJ_NUMANODE);

  const Bitmap usable(hwloc_bitmap_alloc(), hwloc_bitmap_free);
  const hwloc_const_bitmap_t allowed = hwloc_topology_get_allowed_cpuset(raw);
  const bool bound = hwloc_get_cpubind(raw, usable.get(), HWLOC_CPUBIND_PROCESS) == 0;
  if (!bound) hwloc_bitmap_copy(usable.get(), allowed);
  hwloc_bitmap_and(usable.get(), usable.get(), allowed);
  host.usable_cores = count_in(raw, HWLOC_OBJ_CORE, usable.get());
  host.usable_hardware_threads = count_in(raw, HWLOC_OBJ_PU, usable.get());

  for (const hwloc_obj_type_t type :
       std::array{HWLOC_OBJ_L1CACHE, HWLOC_OBJ_L2CACHE, HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L4CACHE}) {
    const hwloc_obj_t first = hwloc_get_next_obj_by_type(raw, type, nullptr);
    if (first == nullptr) continue;
    host.caches.push_back({static_cast<int>(first->attr->cache.depth),
                           static_cast<std::int64_t>(first->attr->cache.size), count(type),
                           hwloc_bitmap_weight(first->cpuset)});
  }
  return host;
}

#ifdef __x86_64__
Fact virtualization() {
  constexpr unsigned kHypervisorBit = 1U << 31U;
  constexpr unsigned kHypervisorLeaf = 0x40000000U;
  std::array<unsigned, 4> registers{};
  auto& [a, b, c, d] = registers;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & kHypervisorBit) == 0) return Fact::of("none");
  __cpuid(kHypervisorLeaf, a, b, c, d);
  std::string name(12, '\0');
  std::memcpy(name.data(), &registers[1], name.size());
  name.erase(std::find(name.begin(), name.end(), '\0'), name.end());
  constexpr std::array<std::pair<std::string_view, const char*>, 5> kKnown{{
      {"KVMKVMKVM", "kvm"},
      {"Microsoft Hv", "hyperv"},
      {"VMwareVMware", "vmware"},
      {"XenVMMXenVMM", "xen"},
      {"TCGTCGTCGTCG", "qemu"},
  }};
  for (const auto& [signature, known] : kKnown) {
    if (name == signature) return Fact::of(known);
  }
  return Fact::of(name.empty() ? "a hypervisor without a name" : name);
}
#else
Fact virtualization() { return Fact::absent("this processor has no instruction that tells"); }
#endif

}  // namespace scalebench
