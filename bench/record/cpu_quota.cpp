// SPDX-License-Identifier: Apache-2.0
#include "bench/record/cpu_quota.hpp"

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

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

}  // namespace scalebench
