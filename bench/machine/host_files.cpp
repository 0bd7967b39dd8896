// SPDX-License-Identifier: Apache-2.0
#include "bench/machine/host_files.hpp"

#include <fmt/ranges.h>
#include <hwloc.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <memory>
#include <set>
#include <sstream>
#include <system_error>
#include <type_traits>
#include <vector>

#include "kernels/buffer.hpp"
#include "kernels/error.hpp"

#ifdef __x86_64__
#include <cpuid.h>

#include <cstring>
#endif

namespace scalebench {
namespace {

constexpr const char* kAbsent = "absent";

const nlohmann::json* value_in(const Facts& facts, std::string_view name) {
  const auto found = facts.find(name);
  return found == facts.end() ? nullptr : &found->second.value;
}

}  // namespace

std::vector<std::string> texts_in(const Facts& facts, std::string_view name) {
  const auto found = facts.find(name);
  if (found == facts.end()) return {};
  const nlohmann::json& value = found->second.value;
  if (value.is_string()) return {value.get<std::string>()};
  std::vector<std::string> texts;
  for (const nlohmann::json& one : value.is_array() ? value : nlohmann::json::array()) {
    if (one.is_string()) texts.push_back(one.get<std::string>());
  }
  return texts;
}

nlohmann::json json_of(const Facts& facts) {
  nlohmann::json json = nlohmann::json::object();
  json[kAbsent] = nlohmann::json::object();
  for (const auto& [name, fact] : facts) {
    json[name] = fact.value;
    if (fact.value.is_null()) json[kAbsent][name] = fact.absent_because;
  }
  return json;
}

Facts facts_of(const nlohmann::json& json) {
  if (!json.is_object()) fail<UsageError>("a set of facts is not a JSON object");
  const nlohmann::json absent = json.value(kAbsent, nlohmann::json::object());
  Facts facts;
  for (const auto& [name, value] : json.items()) {
    if (name == kAbsent) continue;
    facts[name] = value.is_null() ? Fact::absent(absent.value(name, "")) : Fact::of(value);
  }
  return facts;
}

std::optional<double> number_of(const Facts& facts, std::string_view name) {
  const nlohmann::json* value = value_in(facts, name);
  if (value == nullptr || !value->is_number()) return std::nullopt;
  return value->get<double>();
}

std::optional<std::string> text_of(const Facts& facts, std::string_view name) {
  const nlohmann::json* value = value_in(facts, name);
  if (value == nullptr || !value->is_string()) return std::nullopt;
  return value->get<std::string>();
}

std::optional<bool> flag_of(const Facts& facts, std::string_view name) {
  const nlohmann::json* value = value_in(facts, name);
  if (value == nullptr || !value->is_boolean()) return std::nullopt;
  return value->get<bool>();
}

std::vector<std::string> fields_behind_name(const std::filesystem::path& process) {
  std::ifstream file(process / "stat");
  std::string text;
  std::getline(file, text, '\0');  // all of it; of a process that ends meanwhile nothing
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return {};
  std::istringstream fields(text.substr(name_end + 1));
  return {std::istream_iterator<std::string>(fields), {}};
}

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

Fact cpu_quota(const fs::path& root) {
  const std::vector<std::string> groups = control_groups("cpu", root.string());
  if (groups.empty()) return Fact::absent("no control group for CPU time can be seen here");
  std::optional<double> least;
  for (const std::string& group : groups) {
    const std::optional<double> quota = quota_of(group);
    if (quota) least = std::min(least.value_or(*quota), *quota);
  }
  return least ? Fact::of(*least) : Fact::of("none");
}

std::string trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n\"");
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(" \t\r\n\"") - first + 1));
}

/// The number that `text` begins with.
std::optional<double> leading_number(const std::optional<std::string>& text) {
  double value = 0;
  if (!text) return std::nullopt;
  const auto [stop, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  return error == std::errc() ? std::optional(value) : std::nullopt;
}

Fact with_one_decimal(double gib) { return Fact::of(std::round(gib * 10.0) / 10.0); }

std::string no_file(const fs::path& file) { return fmt::format("no /{} here", file.string()); }

class HostFiles {
 public:
  explicit HostFiles(fs::path root) : root_(std::move(root)) {}

  const fs::path& root() const { return root_; }

  bool has(const char* file) const {
    std::error_code ignored;
    return fs::exists(root_ / file, ignored);
  }

  std::optional<std::string> line(const fs::path& file) const {
    std::ifstream stream(root_ / file);
    std::string text;
    if (!std::getline(stream, text)) return std::nullopt;
    return trimmed(text);
  }
  Fact line_fact(const fs::path& file) const { return Fact::of(line(file), no_file(file)); }
  Fact number_fact(const fs::path& file) const {
    return Fact::of(leading_number(line(file)), no_file(file));
  }

  std::optional<std::string> field(const fs::path& file, std::string_view name,
                                   char separator = ':') const {
    std::ifstream stream(root_ / file);
    for (std::string text; std::getline(stream, text);) {
      const std::size_t at = text.find(separator);
      if (at != std::string::npos && trimmed(text.substr(0, at)) == name) {
        return trimmed(text.substr(at + 1));
      }
    }
    return std::nullopt;
  }

  /// Of memory.
  Fact gib_fact(std::string_view name) const {
    const auto kib = leading_number(field("proc/meminfo", name));
    if (!kib) return Fact::absent(fmt::format("no {} in /proc/meminfo", name));
    return with_one_decimal(*kib / 1048576.0);
  }

 private:
  fs::path root_;
};

constexpr const char* kCpus = "sys/devices/system/cpu";
constexpr const char* kNoFrequencyControl =
    "this kernel or virtual machine shows no frequency control";

Fact cpu_model(const HostFiles& host) {
  const fs::path file = "proc/cpuinfo";
  if (const auto name = host.field(file, "model name")) return Fact::of(*name);
  const auto implementer = host.field(file, "CPU implementer");
  const auto part = host.field(file, "CPU part");
  if (!implementer || !part) return Fact::absent("/proc/cpuinfo names no model");
  return Fact::of(fmt::format("implementer {} part {}", *implementer, *part));
}

/// The widest that this processor and its kernel have.
Fact vectors(const HostFiles& host) {
  const auto flags = host.field("proc/cpuinfo", "flags");
  if (!flags) return Fact::absent("/proc/cpuinfo names no flags");
  const std::string words = " " + *flags + " ";
  for (const auto& [flag, name] :
       {std::pair{" avx512f ", "AVX-512"}, {" avx2 ", "AVX2"}, {" avx ", "AVX"}}) {
    if (words.find(flag) != std::string::npos) return Fact::of(name);
  }
  return Fact::of("SSE");
}

Fact container(const HostFiles& host) {
  if (host.has(".dockerenv")) return Fact::of("docker");
  if (host.has("run/.containerenv")) return Fact::of("podman");
  if (host.has(".singularity.d")) return Fact::of("singularity");
  return Fact::of(host.line("run/systemd/container").value_or("none"));
}

Fact memory_gib(const HostFiles& host) {
  const auto kib = leading_number(host.field("proc/meminfo", "MemTotal"));
  return kib ? Fact::of(std::lround(*kib / 1048576.0)) : host.gib_fact("MemTotal");
}

Fact available_memory_gib(const HostFiles& host) {
  const std::size_t bytes = host_bytes_available(host.root().string());
  const bool known = bytes != std::numeric_limits<std::size_t>::max();
  return known ? with_one_decimal(static_cast<double>(bytes) / 1073741824.0)
               : host.gib_fact("MemAvailable");  // which says why not
}

Fact swap_used_gib(const HostFiles& host) {
  Fact total = host.gib_fact("SwapTotal");
  Fact unused = host.gib_fact("SwapFree");
  if (total.value.is_null()) return total;
  if (unused.value.is_null()) return unused;
  return with_one_decimal(total.value.get<double>() - unused.value.get<double>());
}

Fact governor(const HostFiles& host) {
  std::error_code error;
  std::set<std::string> governors;
  for (const fs::directory_entry& entry : fs::directory_iterator(host.root() / kCpus, error)) {
    const auto one = host.line(kCpus / entry.path().filename() / "cpufreq/scaling_governor");
    if (one) governors.insert(*one);
  }
  if (governors.empty()) return Fact::absent(kNoFrequencyControl);
  return Fact::of(fmt::format("{}", fmt::join(governors, ",")));
}

Fact turbo(const HostFiles& host) {
  const fs::path cpus = kCpus;
  if (const auto off = host.line(cpus / "intel_pstate/no_turbo")) return Fact::of(*off == "0");
  if (const auto on = host.line(cpus / "cpufreq/boost")) return Fact::of(*on == "1");
  return Fact::absent(kNoFrequencyControl);
}

Fact transparent_huge_pages(const HostFiles& host) {
  const fs::path file = "sys/kernel/mm/transparent_hugepage/enabled";
  const auto choices = host.line(file);  // "always [madvise] never"
  if (!choices) return Fact::absent(no_file(file));
  const std::size_t open = choices->find('[');
  const std::size_t close = choices->find(']');
  if (open == std::string::npos || close == std::string::npos || close < open) {
    return Fact::absent(fmt::format("/{} says '{}'", file.string(), *choices));
  }
  return Fact::of(choices->substr(open + 1, close - open - 1));
}

Fact isolated_cpus(const HostFiles& host) {
  const Fact list = host.line_fact("sys/devices/system/cpu/isolated");
  return list.value == "" ? Fact::of("none") : list;
}

using Topology =
    std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, decltype(&hwloc_topology_destroy)>;

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

/// The number of each one's core, which is that of the core's first hardware thread; of one that
/// hwloc knows no core of, its own.
std::set<int> cores_in(hwloc_topology_t topology, const std::vector<int>& cpus) {
  std::set<int> cores(cpus.begin(), cpus.end());
  hwloc_obj_t core = nullptr;
  while ((core = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_CORE, core)) != nullptr) {
    const auto threads = std::erase_if(cores, [core](int cpu) {
      return hwloc_bitmap_isset(core->cpuset, static_cast<unsigned>(cpu)) != 0;
    });
    if (threads > 0) cores.insert(hwloc_bitmap_first(core->cpuset));
  }
  return cores;
}

Fact counted(int count) { return count > 0 ? Fact::of(count) : Fact::absent("hwloc counts none"); }

Facts topology_facts() {
  const Topology topology = load();
  hwloc_topology_t raw = topology.get();
  const auto count = [raw](hwloc_obj_type_t type) { return hwloc_get_nbobjs_by_type(raw, type); };
  Facts facts{{"sockets", counted(count(HWLOC_OBJ_PACKAGE))},
              {"cores", counted(count(HWLOC_OBJ_CORE))},
              {"hardware_threads", counted(count(HWLOC_OBJ_PU))},
              {"numa_nodes", counted(count(HWLOC_OBJ_NUMANODE))}};

  const std::vector<int> usable = usable_cpus();
  facts["usable_cores"] = Fact::of(cores_in(raw, usable).size());
  facts["usable_hardware_threads"] = Fact::of(usable.size());

  nlohmann::json caches = nlohmann::json::array();  // the L1 data cache first
  for (const hwloc_obj_type_t type :
       std::array{HWLOC_OBJ_L1CACHE, HWLOC_OBJ_L2CACHE, HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L4CACHE}) {
    const hwloc_obj_t first = hwloc_get_next_obj_by_type(raw, type, nullptr);
    if (first == nullptr) continue;
    caches.push_back({{"level", first->attr->cache.depth},
                      {"bytes", first->attr->cache.size},  // of one instance
                      {"count", count(type)},
                      {"hardware_threads", hwloc_bitmap_weight(first->cpuset)}});  // that share one
  }
  facts["caches"] = caches.empty() ? Fact::absent("hwloc finds no caches") : Fact::of(caches);
  return facts;
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

}  // namespace

Facts host_facts(const fs::path& root) {
  const HostFiles host(root);
  Facts facts{{"cpu_model", cpu_model(host)},
              {"vectors", vectors(host)},
              {"microcode",
               Fact::of(host.field("proc/cpuinfo", "microcode"), "/proc/cpuinfo has no microcode")},
              {"memory_gib", memory_gib(host)},
              {"kernel", host.line_fact("proc/sys/kernel/osrelease")},
              {"distribution", Fact::of(host.field("etc/os-release", "PRETTY_NAME", '='),
                                        no_file("etc/os-release"))},
              {"container", container(host)},
              {"virtualization", virtualization()},
              {"cpu_quota_cores", cpu_quota(root)},
              {"governor", governor(host)},
              {"turbo", turbo(host)},
              {"isolated_cpus", isolated_cpus(host)},
              {"transparent_huge_pages", transparent_huge_pages(host)},
              {"clock_source",
               host.line_fact("sys/devices/system/clocksource/clocksource0/current_clocksource")},
              {"load_average", host.number_fact("proc/loadavg")},
              {"available_memory_gib", available_memory_gib(host)},
              {"swap_used_gib", swap_used_gib(host)},
              {"allowed_cpus", allowed_cpus(root)}};
  try {
    facts.merge(topology_facts());
  } catch (const Error& error) {
    for (const char* const name : {"sockets", "cores", "hardware_threads", "numa_nodes", "caches",
                                   "usable_cores", "usable_hardware_threads"}) {
      facts[name] = Fact::absent(error.what());
    }
  }
  return facts;
}

std::vector<int> cores_of(const std::vector<int>& cpus) {
  try {
    const std::set<int> cores = cores_in(load().get(), cpus);
    return {cores.begin(), cores.end()};
  } catch (const Error&) {
    return cpus;  // as on machines that hide which of them are hardware threads of one core
  }
}

std::vector<int> usable_cores() { return cores_of(usable_cpus()); }

Fact allowed_cpus(const fs::path& root) {
  const fs::path file = "proc/self/status";
  return Fact::of(HostFiles(root).field(file, "Cpus_allowed_list"), no_file(file));
}

}  // namespace scalebench
