// SPDX-License-Identifier: Apache-2.0
// Every probe on a made-up machine, and on one that shows nothing at all.
#include "bench/machine/host_files.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "kernels/testing.hpp"

namespace scalebench {
namespace {

TEST(HostFiles, ReadsAMachine) {
  const TemporaryFolder root;
  root.write("proc/cpuinfo", "processor\t: 0\nmodel name\t: Some CPU: 2 GHz\nmicrocode\t: 0x1\n");
  root.write("proc/sys/kernel/osrelease", "6.1.0\n");
  root.write("proc/sys/kernel/randomize_va_space", "2\n");
  root.write("etc/os-release", "NAME=x\nPRETTY_NAME=\"Some Linux 1\"\n");
  root.write("proc/meminfo",
             "MemTotal: 16300000 kB\nMemAvailable: 8388608 kB\nSwapTotal: 2097152 kB\n"
             "SwapFree: 1572864 kB\n");
  root.write("proc/loadavg", "1.25 0.5 0.2 3/400 999\n");
  root.write("proc/uptime", "3600.5 7000\n");
  root.write("proc/self/status", "Name:\tx\nCpus_allowed_list:\t0-3,8\n");
  root.write("proc/1/stat", "1 (init) S 0\n");
  root.write("proc/22/stat", "22 (odd) R (name) R 1\n");
  root.write("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n");
  root.write("sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "performance\n");
  root.write("sys/devices/system/cpu/intel_pstate/no_turbo", "0\n");
  root.write("sys/devices/system/cpu/isolated", "\n");
  root.write("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n");
  root.write("sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n");
  root.write("run/.containerenv", "");
  const HostFiles host(root.path());
  EXPECT_EQ(host.cpu_model().value, "Some CPU: 2 GHz");
  EXPECT_EQ(host.microcode().value, "0x1");
  EXPECT_EQ(host.kernel().value, "6.1.0");
  EXPECT_EQ(host.distribution().value, "Some Linux 1");
  EXPECT_EQ(host.container().value, "podman");
  EXPECT_EQ(host.memory_gib().value, 16);
  EXPECT_EQ(host.available_memory_gib().value, 8.0);
  EXPECT_EQ(host.swap_used_gib().value, 0.5);
  EXPECT_EQ(host.load_average().value, 1.25);
  EXPECT_EQ(host.running_processes().value, 1);
  EXPECT_EQ(host.uptime_seconds().value, 3600.5);
  EXPECT_EQ(host.governor().value, "performance,powersave");
  EXPECT_EQ(host.turbo().value, true);
  EXPECT_EQ(host.transparent_huge_pages().value, "never");
  EXPECT_EQ(host.address_randomization().value, 2);
  EXPECT_EQ(host.clock_source().value, "tsc");
  EXPECT_EQ(host.isolated_cpus().value, "none");
  EXPECT_EQ(host.allowed_cpus().value, "0-3,8");
}

TEST(HostFiles, SaysWhyNothingIsKnown) {
  const TemporaryFolder root;
  const HostFiles host(root.path());
  for (const Fact& fact :
       {host.cpu_model(), host.microcode(), host.kernel(), host.distribution(), host.memory_gib(),
        host.available_memory_gib(), host.swap_used_gib(), host.load_average(),
        host.running_processes(), host.uptime_seconds(), host.governor(), host.turbo(),
        host.transparent_huge_pages(), host.address_randomization(), host.clock_source(),
        host.isolated_cpus(), host.allowed_cpus(), cpu_quota(root.path())}) {
    EXPECT_TRUE(fact.value.is_null()) << fact.value;
    EXPECT_NE(fact.absent_because, "");
  }
}

TEST(HostFiles, NamesAnArmCore) {
  const TemporaryFolder root;
  root.write("proc/cpuinfo", "CPU implementer\t: 0x41\nCPU part\t: 0xd40\n");
  EXPECT_EQ(HostFiles(root.path()).cpu_model().value, "implementer 0x41 part 0xd40");
}

TEST(CpuQuota, OfVersion2IsTheSmallestUpToTheRoot) {
  const TemporaryFolder root;
  root.write("proc/self/cgroup", "0::/a/b\n");
  root.write("sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  EXPECT_EQ(cpu_quota(root.path()).value, "none");
  root.write("sys/fs/cgroup/a/cpu.max", "150000 100000\n");
  root.write("sys/fs/cgroup/cpu.max", "400000 100000\n");
  EXPECT_EQ(cpu_quota(root.path()).value, 1.5);
}

TEST(CpuQuota, OfVersion1NeedsTheCpuController) {
  const TemporaryFolder root;
  root.write("proc/self/cgroup", "5:cpuset:/x\n4:cpu,cpuacct:/docker/1\n");
  root.write("sys/fs/cgroup/cpuset/x/cpu.cfs_quota_us", "10000\n");
  root.write("sys/fs/cgroup/cpuset/x/cpu.cfs_period_us", "100000\n");
  root.write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  root.write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(cpu_quota(root.path()).value, "none");
  root.write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "250000\n");
  EXPECT_EQ(cpu_quota(root.path()).value, 2.5);
}

}  // namespace
}  // namespace scalebench
