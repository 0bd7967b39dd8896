// SPDX-License-Identifier: Apache-2.0
// What /proc, /sys and /etc tell of this machine. Each question gives a Fact: a kernel, container
// or virtual machine that hides the file makes it absent with that reason.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/machine/facts.hpp"

namespace scalebench {

// How much CPU time the control groups (version 1 or 2) leave to this process. A quota is invisible
// in every count of cores, and stops all ranks for the rest of each period once it is used up.

/// In cores: 2.5 is 250 ms of CPU time in 100 ms. The text "none" where no group sets a limit.
/// `root` is another folder than / in tests only.
Fact cpu_quota(const std::filesystem::path& root = "/");

class HostFiles {
 public:
  /// `root` is another folder than / in tests only.
  explicit HostFiles(std::filesystem::path root = "/") : root_(std::move(root)) {}

  Fact cpu_model() const;
  Fact microcode() const;
  Fact kernel() const;
  Fact distribution() const;
  Fact container() const;   // "docker", "podman", ... or "none"
  Fact memory_gib() const;  // installed, rounded to whole GiB
  Fact available_memory_gib() const;
  Fact swap_used_gib() const;
  Fact load_average() const;       // over the last minute
  Fact running_processes() const;  // runnable at this moment, without this one
  Fact uptime_seconds() const;
  Fact governor() const;                // of all cores; several are joined by commas
  Fact turbo() const;                   // true: on
  Fact transparent_huge_pages() const;  // "always", "madvise" or "never"
  Fact address_randomization() const;   // 0 off, 1 or 2 on
  Fact clock_source() const;
  Fact isolated_cpus() const;
  Fact allowed_cpus() const;  // as the kernel lists them: "0-3,8"

 private:
  std::optional<std::string> line(const std::filesystem::path& file) const;
  std::optional<std::string> field(const std::filesystem::path& file, std::string_view name,
                                   char separator) const;
  Fact line_fact(const std::filesystem::path& file) const;
  Fact gib_fact(std::string_view name) const;
  std::filesystem::path root_;
};

// Sockets, cores and caches of this machine by hwloc, and how many of them this process may use.

struct HostTopology {
  int sockets = 0;
  int cores = 0;
  int hardware_threads = 0;
  int numa_nodes = 0;
  /// What cgroup and affinity leave to this process.
  int usable_cores = 0;
  int usable_hardware_threads = 0;

  struct Cache {
    int level = 0;             // 1 is the L1 data cache
    std::int64_t bytes = 0;    // of one instance
    int count = 0;             // instances in the machine
    int hardware_threads = 0;  // that share one instance
  };
  std::vector<Cache> caches;  // level 1 first; empty when a virtual machine hides them
};

/// Throws Error when hwloc cannot read the machine.
HostTopology host_topology();

// Whether the machine is a guest, and of what.

/// "none", "kvm", "vmware", ...; absent where the processor has no way to ask.
Fact virtualization();

}  // namespace scalebench
