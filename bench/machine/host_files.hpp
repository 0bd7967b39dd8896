// SPDX-License-Identifier: Apache-2.0
// What /proc, /sys and /etc tell of this machine. Each question gives a Fact: a kernel, container
// or virtual machine that hides the file makes it absent with that reason.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace scalebench {

// Named findings about a machine. One that could not be found out is null and says why; it is never
// 0 or "". In JSON: {"turbo": null, "cores": 8, "absent": {"turbo": "no cpufreq here"}}.

struct Fact {
  nlohmann::json value;
  std::string absent_because;  // when value is null

  static Fact of(nlohmann::json found) { return {std::move(found), ""}; }
  static Fact absent(std::string reason) { return {nullptr, std::move(reason)}; }
  /// What `found` holds, else absent with this reason.
  template <class T>
  static Fact of(std::optional<T> found, std::string reason) {
    return found ? of(*found) : absent(std::move(reason));
  }
};

using Facts = std::map<std::string, Fact, std::less<>>;

/// The texts of a fact that is a list, or the one that it is; empty where it is not there.
std::vector<std::string> texts_in(const Facts& facts, std::string_view name);

nlohmann::json json_of(const Facts& facts);
/// Throws UsageError or nlohmann::json::exception when `json` is not what json_of makes.
Facts facts_of(const nlohmann::json& json);

/// The value, when the fact is there and is of that kind.
std::optional<double> number_of(const Facts& facts, std::string_view name);
std::optional<std::string> text_of(const Facts& facts, std::string_view name);
std::optional<bool> flag_of(const Facts& facts, std::string_view name);

/// What this machine tells of itself, in some milliseconds. `root` is another folder than / in
/// tests only; hwloc and the processor are asked themselves.
///   processor and memory: cpu_model microcode memory_gib (installed, whole GiB)
///   system: kernel distribution container virtualization ("docker", "kvm", ... or "none")
///   by hwloc: sockets cores hardware_threads numa_nodes caches, and what control groups and
///     affinity leave to this process: usable_cores usable_hardware_threads
///   cpu_quota_cores: 2.5 is 250 ms of CPU time in 100 ms; "none" where no group sets a limit. It
///   is
///     invisible in every count of cores, and stops all ranks for the rest of each period.
///   settings: governor (of all cores; several are joined by commas) turbo isolated_cpus
///     transparent_huge_pages clock_source
///   now: load_average (over the last minute) allowed_cpus swap_used_gib
///     available_memory_gib (no more than control groups allow)
Facts host_facts(const std::filesystem::path& root = "/");

/// The cores of these hardware threads, each by the number of its first one, be it among them or
/// not. Where the machine does not tell, each is a core.
std::vector<int> cores_of(const std::vector<int>& cpus);

/// What ranks on CPUs may take, one each: mpirun counts and binds the same. Hardware threads of one
/// core share its arithmetic, and would pass for twice the devices that there are.
std::vector<int> usable_cores();

/// The fields of PROCESS/stat, a process' folder in /proc, behind the name, which may hold anything
/// (proc(5)): first the state, as field 3. Empty where there is no such process.
std::vector<std::string> fields_behind_name(const std::filesystem::path& process);

/// The processors that this process may use, as the kernel lists them: "0-3,8".
Fact allowed_cpus(const std::filesystem::path& root = "/");

}  // namespace scalebench
