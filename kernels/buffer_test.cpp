// SPDX-License-Identifier: Apache-2.0
#include "kernels/buffer.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <system_error>
#include <utility>

#include "kernels/device.hpp"
#include "kernels/error.hpp"
#include "kernels/testing.hpp"

namespace scalebench {
namespace {

using testing::HasSubstr;

/// Whether the mapping that holds this address was advised to be of huge pages: whether they came
/// depends on how much memory is free in one piece.
bool asks_for_huge_pages(const std::byte* address) {
  std::ifstream smaps("/proc/self/smaps");
  const auto wanted = reinterpret_cast<std::uintptr_t>(address);
  bool here = false;
  for (std::string line; std::getline(smaps, line);) {
    unsigned long begin = 0, end = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2) {
      here = begin <= wanted && wanted < end;
    } else if (here && line.starts_with("VmFlags:")) {
      return line.find(" hg") != std::string::npos;
    }
  }
  return false;
}

TEST(Buffer, IsZeroedAndPageAligned) {
  for (const std::size_t count : {std::size_t{1}, std::size_t{4097}, std::size_t{3} << 20U}) {
    const Buffer buffer(count, DType::float64);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.span().data) % 4096, 0U);
    EXPECT_EQ(buffer.bytes(), count * 8);
    const auto values = buffer.span().as<double>();
    EXPECT_TRUE(std::all_of(values.begin(), values.end(), [](double v) { return v == 0; }));
  }
}

TEST(Buffer, LiesInThePagesThatWereAskedFor) {
  constexpr std::size_t kHugePageBytes = std::size_t{2} << 20U;
  constexpr std::size_t kCount = 4 * kHugePageBytes / sizeof(double);
  const Buffer huge(kCount, DType::float64, Memory::host, Pages::huge);
  const Buffer standard(kCount, DType::float64, Memory::host, Pages::standard);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(huge.span().data) % kHugePageBytes, 0U);
  std::ifstream enabled("/sys/kernel/mm/transparent_hugepage/enabled");
  const std::string words{std::istreambuf_iterator<char>(enabled), {}};
  if (!words.empty()) {
    EXPECT_TRUE(asks_for_huge_pages(huge.span().data)) << "a kernel that has them";
  }
  EXPECT_FALSE(asks_for_huge_pages(standard.span().data));
}

TEST(Buffer, MayBeEmpty) {
  EXPECT_TRUE(Buffer().span().empty());
  EXPECT_EQ(Buffer(0, DType::float16).bytes(), 0U);
}

TEST(Buffer, Moves) {
  Buffer first(10, DType::int32);
  first.span().as<std::int32_t>()[9] = 42;
  Buffer second(std::move(first));
  Buffer third(5, DType::float64);
  third = std::move(second);
  EXPECT_EQ(third.span().as<std::int32_t>()[9], 42);
  EXPECT_EQ(third.span().count, 10U);
}

TEST(Buffer, SaysWhatItCouldNotGet) {
  try {
    const Buffer buffer(std::size_t{1} << 50U, DType::float32);
    FAIL() << "4 PiB were handed out";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("4503599627370496 bytes asked for"));
    EXPECT_THAT(error.what(), HasSubstr("available"));
  }
  EXPECT_THROW(Buffer(std::numeric_limits<std::size_t>::max() / 2, DType::float64), Error);
}

// Control groups, made up: what /proc says of this process, and where its groups are mounted.

constexpr std::size_t kMiB = std::size_t{1} << 20U;

class MadeUpGroups : public testing::Test {
 protected:
  MadeUpGroups() { root.write("proc/meminfo", "MemTotal: 99999 kB\nMemAvailable: 65536 kB\n"); }

  void is_in(const char* groups, const char* mounts) const {
    root.write("proc/self/cgroup", groups);
    root.write("proc/self/mountinfo",
               fmt::format("22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n{}", mounts));
  }
  void version2(const std::string& folder, const char* most, std::size_t used,
                const char* stat = "") const {
    root.write(folder + "/memory.max", most);
    root.write(folder + "/memory.current", std::to_string(used));
    root.write(folder + "/memory.stat", stat);
  }
  void version1(const std::string& folder, std::size_t most, std::size_t used,
                const char* stat = "") const {
    root.write(folder + "/memory.limit_in_bytes", std::to_string(most));
    root.write(folder + "/memory.usage_in_bytes", std::to_string(used));
    root.write(folder + "/memory.stat", stat);
  }
  std::size_t available() const { return host_bytes_available(root.path().string()); }

  static constexpr const char* kVersion2 = "30 22 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
  static constexpr const char* kVersion1 =
      "31 22 0:27 / /sys/fs/cgroup/memory rw,nosuid shared:9 - cgroup cgroup rw,memory\n"
      "32 22 0:28 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n";
  TemporaryFolder root;
};

TEST_F(MadeUpGroups, WithoutAnyTheSystemSaysWhatThereIs) {
  EXPECT_EQ(available(), 64 * kMiB);
  is_in("0::/a\n", kVersion2);
  version2("sys/fs/cgroup/a", "max\n", 5 * kMiB);
  EXPECT_EQ(available(), 64 * kMiB);
  EXPECT_EQ(host_bytes_available("/nowhere"), std::numeric_limits<std::size_t>::max());
}

TEST_F(MadeUpGroups, OfVersion2TheNarrowestParentCounts) {
  is_in("0::/a/b\n", kVersion2);
  version2("sys/fs/cgroup/a/b", "41943040\n", 10 * kMiB);
  EXPECT_EQ(available(), 30 * kMiB);
  version2("sys/fs/cgroup/a", "52428800\n", 45 * kMiB);
  EXPECT_EQ(available(), 5 * kMiB) << "what its other children use is used";
  version2("sys/fs/cgroup", "48234496\n", 50 * kMiB);
  EXPECT_EQ(available(), 0U) << "it may be over its limit for a while";
}

TEST_F(MadeUpGroups, CountCacheThatCanBeTakenBackAsFree) {
  is_in("0::/a\n", kVersion2);
  version2("sys/fs/cgroup/a", "41943040\n", 30 * kMiB,
           "anon 1\nfile 12582912\nshmem 1048576\ninactive_anon 1048576\nactive_anon 7\n"
           "inactive_file 4194304\nactive_file 2097152\nslab_reclaimable 1048576\n");
  EXPECT_EQ(available(), 17 * kMiB);
  version2("sys/fs/cgroup/a", "41943040\n", 3 * kMiB, "inactive_file 8388608\n");
  EXPECT_EQ(available(), 40 * kMiB) << "the two are not read at the same moment";
}

TEST_F(MadeUpGroups, OfVersion2TheLimitThatSlowsDownCountsToo) {
  is_in("0::/a\n", kVersion2);
  version2("sys/fs/cgroup/a", "41943040\n", 10 * kMiB);
  root.write("sys/fs/cgroup/a/memory.high", "20971520\n");
  EXPECT_EQ(available(), 10 * kMiB);
}

TEST_F(MadeUpGroups, OfVersion1ThoseOfMemoryCount) {
  is_in("9:cpu,cpuacct:/other\n4:memory:/docker/1\n0::/\n", kVersion1);
  version1("sys/fs/cgroup/cpu/other", 1, 0);
  version1("sys/fs/cgroup/memory/other", 1, 0);
  version1("sys/fs/cgroup/memory", 9223372036854771712U, 60 * kMiB);
  EXPECT_EQ(available(), 64 * kMiB);
  version1("sys/fs/cgroup/memory/docker", 50 * kMiB, 30 * kMiB,
           "inactive_file 7340032\ntotal_inactive_file 4194304\ntotal_active_file 2097152\n");
  EXPECT_EQ(available(), 26 * kMiB) << "with what its children cache";
  version1("sys/fs/cgroup/memory/docker/1", 20 * kMiB, 18 * kMiB);
  EXPECT_EQ(available(), 2 * kMiB);
}

TEST_F(MadeUpGroups, OfAContainerAreWhereItsOwnIsMounted) {
  is_in("4:memory:/docker/1/ranks\n",
        "31 22 0:27 /docker/1 /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n");
  version1("sys/fs/cgroup/memory", 50 * kMiB, 20 * kMiB);
  EXPECT_EQ(available(), 30 * kMiB);
  version1("sys/fs/cgroup/memory/ranks", 25 * kMiB, 20 * kMiB);
  EXPECT_EQ(available(), 5 * kMiB);
  // Seen from inside of a namespace whose root is below the mount.
  is_in("0::/\n", "30 22 0:26 /../.. /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  version2("sys/fs/cgroup", "41943040\n", 10 * kMiB);
  EXPECT_EQ(available(), 30 * kMiB);
}

/// A group below one of this process, with a limit, and gone at the end; `problem` where it cannot
/// be made.
class LimitedGroup {
 public:
  explicit LimitedGroup(std::size_t most) {
    problem = "no control group for memory can be seen here";
    for (const std::string& parent : control_groups("memory")) {
      folder_ = std::filesystem::path(parent) / fmt::format("scalebench-test-{}", getpid());
      std::error_code error;
      if (!std::filesystem::create_directory(folder_, error)) {
        problem = fmt::format("cannot make {}: {}", folder_.string(), error.message());
        continue;
      }
      if (write("memory.limit_in_bytes", std::to_string(most)) ||
          write("memory.max", std::to_string(most))) {
        problem = "";
        return;
      }
      problem = parent + " gives its children no limit of memory";
      rmdir(folder_.c_str());
    }
  }
  ~LimitedGroup() {
    if (problem.empty()) rmdir(folder_.c_str());
  }

  /// False where there is no such file, which the kernel makes, or where it takes no such text.
  bool write(const char* file, const std::string& text) const {
    const int descriptor = open((folder_ / file).c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor < 0) return false;
    const bool written = ::write(descriptor, text.data(), text.size()) > 0;
    close(descriptor);
    return written;
  }

  std::string problem;

 private:
  std::filesystem::path folder_;
};

TEST(Buffer, OfAProcessInARealGroupIsRefusedBeforeTheKernelKillsIt) {
  const LimitedGroup group(64 * kMiB);
  if (!group.problem.empty()) GTEST_SKIP() << group.problem;
  if (host_bytes_available() < 256 * kMiB) GTEST_SKIP() << "too little memory to tell its limit by";
  const pid_t child = fork();
  if (child == 0) {
    if (!group.write("cgroup.procs", std::to_string(getpid()))) _exit(2);
    const std::size_t free = host_bytes_available();
    if (free > 64 * kMiB || free < 32 * kMiB) _exit(3);
    try {
      const Buffer fits(16 * kMiB, DType::float16, Memory::host, Pages::standard);
      if (host_bytes_available() > 32 * kMiB) _exit(4);
    } catch (const Error&) {
      _exit(5);
    }
    try {
      const Buffer too_large(32 * kMiB, DType::float32, Memory::host, Pages::standard);
    } catch (const Error& error) {
      _exit(std::string(error.what()).starts_with("out of host memory: 134217728 bytes") ? 0 : 6);
    }
    _exit(7);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "ended by signal " << WTERMSIG(status);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 2) GTEST_SKIP() << "may not enter the group";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(Buffer, OnADeviceNeedsOne) {
  if (device_count() > 0) GTEST_SKIP() << "there is a device";
  EXPECT_FALSE(why_no_device().empty());
  EXPECT_THROW(Buffer(1, DType::float32, Memory::device), Error);
}

TEST(Copy, CopiesAndRefuses) {
  const Buffer from(100, DType::int32);
  const Buffer to(100, DType::int32);
  from.span().as<std::int32_t>()[99] = 7;
  copy(from.span(), to.span());
  EXPECT_EQ(to.span().as<std::int32_t>()[99], 7);
  EXPECT_THROW(copy(from.span().part(0, 99), to.span()), Error);
  EXPECT_THROW(copy(Buffer(100, DType::float32).span(), to.span()), Error);
}

}  // namespace
}  // namespace scalebench
