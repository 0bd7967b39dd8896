// SPDX-License-Identifier: Apache-2.0
// One writer at a time, also where the file system has no locks, and none locked out for ever.
#include "bench/record/folder_lock.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

#include "kernels/error.hpp"
#include "kernels/testing.hpp"

namespace scalebench {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

/// A file system without locks, as some NFS mounts are.
int no_locks(int /*descriptor*/, int /*operation*/) {
  errno = ENOLCK;
  return -1;
}

TEST(FolderLock, IsHeldByOneUntilItsEnd) {
  const TemporaryFolder folder;
  {
    const FolderLock lock(folder.path());
    EXPECT_THAT(message_of<UsageError>([&] { FolderLock second(folder.path()); }),
                AllOf(HasSubstr(folder.path().string()), HasSubstr(std::to_string(getpid()))));
  }
  EXPECT_TRUE(fs::is_empty(folder.path())) << "nothing is left of it";
  const FolderLock again(folder.path());
}

TEST(FolderLock, IsGivenBackByAProcessThatIsKilled) {
  const TemporaryFolder folder;
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const FolderLock lock(folder.path());
    static_cast<void>(!write(ready[1], "x", 1));
    pause();
    _exit(0);
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  EXPECT_THAT(message_of<UsageError>([&] { FolderLock second(folder.path()); }),
              HasSubstr(std::to_string(child)));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  const FolderLock lock(folder.path());
}

TEST(FolderLock, WorksWhereTheFileSystemHasNoLocks) {
  const TemporaryFolder folder;
  {
    const FolderLock lock(folder.path(), no_locks);
    EXPECT_THAT(message_of<UsageError>([&] { FolderLock second(folder.path(), no_locks); }),
                AllOf(HasSubstr(std::to_string(getpid())), HasSubstr("if that has ended, remove")));
  }
  // Left by a process of this host that is gone: taken. Of another host: nobody can tell.
  char host[256] = {};
  gethostname(host, sizeof(host) - 1);
  folder.write(".lock.alone", fmt::format("2147483646 {}\n", host));
  { const FolderLock lock(folder.path(), no_locks); }
  folder.write(".lock.alone", "2147483646 another-host\n");
  EXPECT_THAT(message_of<UsageError>([&] { FolderLock lock(folder.path(), no_locks); }),
              HasSubstr("another-host"));
}

}  // namespace
}  // namespace scalebench
