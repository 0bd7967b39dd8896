// SPDX-License-Identifier: Apache-2.0
// Every probe on a made-up machine, and on one that shows nothing at all.
#include "bench/machine/host_files.hpp"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include "kernels/testing.hpp"

namespace scalebench {
namespace {

TEST(HostFiles, ReadsAMachine) {
  const TemporaryFolder root;
  root.write("proc/cpuinfo", "processor\t: 0\nmodel name\t: Some CPU: 2 GHz\nmicrocode\t: 0x1\n");
  root.write("proc/sys/kernel/osrelease", "6.1.0\n");
  root.write("etc/os-release", "NAME=x\nPRETTY_NAME=\"Some Linux 1\"\n");
  root.write("proc/meminfo",
             "MemTotal: 16300000 kB\nMemAvailable: 8388608 kB\nSwapTotal: 2097152 kB\n"
             "SwapFree: 1572864 kB\n");
  root.write("proc/loadavg", "1.25 0.5 0.2 3/400 999\n");
  root.write("proc/self/status", "Name:\tx\nCpus_allowed_list:\t0-3,8\n");
  root.write("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n");
  root.write("sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "performance\n");
  root.write("sys/devices/system/cpu/intel_pstate/no_turbo", "0\n");
  root.write("sys/devices/system/cpu/isolated", "\n");
  root.write("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n");
  root.write("sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n");
  root.write("run/.containerenv", "");
  const Facts host = host_facts(root.path());
  EXPECT_EQ(host.at("cpu_model").value, "Some CPU: 2 GHz");
  EXPECT_EQ(host.at("microcode").value, "0x1");
  EXPECT_EQ(host.at("kernel").value, "6.1.0");
  EXPECT_EQ(host.at("distribution").value, "Some Linux 1");
  EXPECT_EQ(host.at("container").value, "podman");
  EXPECT_EQ(host.at("memory_gib").value, 16);
  EXPECT_EQ(host.at("available_memory_gib").value, 8.0);
  EXPECT_EQ(host.at("swap_used_gib").value, 0.5);
  EXPECT_EQ(host.at("load_average").value, 1.25);
  EXPECT_EQ(host.at("governor").value, "performance,powersave");
  EXPECT_EQ(host.at("turbo").value, true);
  EXPECT_EQ(host.at("transparent_huge_pages").value, "never");
  EXPECT_EQ(host.at("clock_source").value, "tsc");
  EXPECT_EQ(host.at("isolated_cpus").value, "none");
  EXPECT_EQ(host.at("allowed_cpus").value, "0-3,8");
}

TEST(FieldsBehindName, AreFoundWhateverAProcessIsCalled) {
  std::array<char, 16> name{};
  ::prctl(PR_GET_NAME, name.data());
  for (const char* const odd : {"odd) Z 1", "a\nb) Z 1", "(", ")", ""}) {
    ::prctl(PR_SET_NAME, odd);
    const std::vector<std::string> fields = fields_behind_name("/proc/self");
    ASSERT_GE(fields.size(), 2U) << odd;
    EXPECT_EQ(fields[0], "R") << odd;
    EXPECT_EQ(fields[1], std::to_string(::getppid())) << odd;
  }
  ::prctl(PR_SET_NAME, name.data());
  EXPECT_TRUE(fields_behind_name("/proc/0").empty());
  // One that ends while it is read: the file is there, and reading it fails.
  const TemporaryFolder folder;
  std::filesystem::create_symlink("/proc/self/mem", folder.path() / "stat");
  EXPECT_TRUE(fields_behind_name(folder.path()).empty());
}

TEST(HostFiles, SaysWhyNothingIsKnown) {
  const TemporaryFolder root;
  const Facts host = host_facts(root.path());
  for (const char* const name :
       {"cpu_model", "microcode", "kernel", "distribution", "memory_gib", "available_memory_gib",
        "swap_used_gib", "load_average", "governor", "turbo", "transparent_huge_pages",
        "clock_source", "isolated_cpus", "allowed_cpus", "cpu_quota_cores", "vectors"}) {
    const Fact& fact = host.at(name);
    EXPECT_TRUE(fact.value.is_null()) << fact.value;
    EXPECT_NE(fact.absent_because, "");
  }
}

TEST(HostFiles, HasNoMoreMemoryThanAControlGroupAllows) {
  const TemporaryFolder root;
  root.write("proc/meminfo", "MemAvailable: 8388608 kB\n");
  root.write("proc/self/cgroup", "0::/a\n");
  root.write("proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  root.write("sys/fs/cgroup/a/memory.max", "3221225472\n");
  root.write("sys/fs/cgroup/a/memory.current", "1073741824\n");
  EXPECT_EQ(host_facts(root.path()).at("available_memory_gib").value, 2.0);
}

TEST(HostFiles, NamesTheWidestVectors) {
  const TemporaryFolder root;
  const auto with = [&](const std::string& flags) {
    root.write("proc/cpuinfo", "processor\t: 0\nflags\t\t: " + flags + "\n");
    return host_facts(root.path()).at("vectors").value;
  };
  EXPECT_EQ(with("fpu avx avx2 avx512f avx512bw"), "AVX-512");
  EXPECT_EQ(with("avx avx2"), "AVX2");
  EXPECT_EQ(with("fpu avx fma"), "AVX");
  EXPECT_EQ(with("fpu sse2"), "SSE");
}

TEST(HostFiles, NamesAnArmCore) {
  const TemporaryFolder root;
  root.write("proc/cpuinfo", "CPU implementer\t: 0x41\nCPU part\t: 0xd40\n");
  EXPECT_EQ(host_facts(root.path()).at("cpu_model").value, "implementer 0x41 part 0xd40");
}

TEST(CpuQuota, OfVersion2IsTheSmallestUpToTheRoot) {
  const TemporaryFolder root;
  root.write("proc/self/cgroup", "0::/a/b\n");
  root.write("proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  root.write("sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  EXPECT_EQ(host_facts(root.path()).at("cpu_quota_cores").value, "none");
  root.write("sys/fs/cgroup/a/cpu.max", "150000 100000\n");
  root.write("sys/fs/cgroup/cpu.max", "400000 100000\n");
  EXPECT_EQ(host_facts(root.path()).at("cpu_quota_cores").value, 1.5);
}

TEST(CpuQuota, OfVersion1NeedsTheCpuController) {
  const TemporaryFolder root;
  root.write("proc/self/cgroup", "5:cpuset:/x\n4:cpu,cpuacct:/docker/1\n");
  root.write("proc/self/mountinfo",
             "31 23 0:27 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
             "32 23 0:28 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n");
  root.write("sys/fs/cgroup/cpuset/x/cpu.cfs_quota_us", "10000\n");
  root.write("sys/fs/cgroup/cpuset/x/cpu.cfs_period_us", "100000\n");
  root.write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  root.write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(host_facts(root.path()).at("cpu_quota_cores").value, "none");
  root.write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "250000\n");
  EXPECT_EQ(host_facts(root.path()).at("cpu_quota_cores").value, 2.5);
}

/// hwloc reads the variable, here and in mpirun: hardware threads 0 and 1 are of core 0, and so on.
TEST(CoresOf, AreThoseThatHardwareThreadsShare) {
  setenv("HWLOC_SYNTHETIC", "package:2 core:2 pu:2", 1);
  EXPECT_EQ(cores_of({0, 1}), (std::vector<int>{0}));
  EXPECT_EQ(cores_of({0, 2, 4, 6}), (std::vector<int>{0, 2, 4, 6}));
  EXPECT_EQ(cores_of({1, 6, 7}), (std::vector<int>{0, 6})) << "one thread is enough";
  EXPECT_EQ(cores_of({1, 9, 8}), (std::vector<int>{0, 8, 9})) << "of which hwloc knows nothing";
  setenv("HWLOC_SYNTHETIC", "core:1 pu:1024", 1);
  EXPECT_EQ(usable_cores(), (std::vector<int>{0}));
  EXPECT_EQ(number_of(host_facts(), "usable_cores"), 1);
  unsetenv("HWLOC_SYNTHETIC");
}

}  // namespace
}  // namespace scalebench
