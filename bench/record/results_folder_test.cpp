// SPDX-License-Identifier: Apache-2.0
// Folders are new, contained, writable and roomy, or refused with a remedy; one writes in each at a
// time.
#include "bench/record/results_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <limits>
#include <regex>

#include "bench/record/file.hpp"
#include "bench/record/testing.hpp"
#include "kernels/error.hpp"
#include "kernels/testing.hpp"

namespace scalebench {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

TEST(UtcTime, IsTheSameEverywhere) {
  EXPECT_EQ(utc_label(951782400), "2000-02-29T00:00:00Z");
  EXPECT_EQ(utc_name(1767225599), "20251231T235959Z");
}

TEST(ResultsFolder, IsNewAndNamedByTimeStudyAndChance) {
  const TemporaryFolder parent;
  const fs::path a = new_run_folder(parent / "results", "smoke", 0);
  const fs::path b = new_run_folder(parent / "results", "smoke", 0);
  EXPECT_NE(a, b);
  EXPECT_TRUE(fs::is_empty(a));
  EXPECT_TRUE(
      std::regex_match(a.filename().string(), std::regex("[0-9]{8}T[0-9]{6}Z-smoke-[0-9a-f]{6}")));
  EXPECT_EQ(a.parent_path(), parent / "results");
}

TEST(ResultsFolder, RefusesNamesThatLeaveTheirPlace) {
  const TemporaryFolder parent;
  for (const char* name : {"", "..", "a/b", "A", "a b", ".hidden", "ä", "$(x)"}) {
    EXPECT_THROW(new_run_folder(parent.path(), name, 0), UsageError) << name;
  }
  EXPECT_TRUE(fs::is_empty(parent.path()));
}

TEST(ResultsFolder, RefusesWhenThereIsTooLittleRoom) {
  const TemporaryFolder parent;
  const std::string message = message_of<UsageError>(
      [&] { new_run_folder(parent.path(), "smoke", std::numeric_limits<std::uintmax_t>::max()); });
  EXPECT_THAT(message,
              AllOf(HasSubstr(parent.path().string()), HasSubstr("free"), HasSubstr("--out")));
  EXPECT_TRUE(fs::is_empty(parent.path()));
}

TEST(ResultsFolder, RefusesWhatCannotBeWritten) {
  const TemporaryFolder parent;
  const fs::path file = parent.write("file", "");
  for (const fs::path& bad : {file, file / "below", fs::path("/proc/none")}) {
    EXPECT_THAT(message_of<UsageError>([&] { own_folder(bad, 0); }),
                AllOf(HasSubstr(bad.string()), HasSubstr("--out")));
    EXPECT_THROW(new_run_folder(bad, "smoke", 0), UsageError);
  }
  // For root too, which may write in any folder of a disk.
  EXPECT_THROW(own_folder("/proc/self", 0), UsageError);
}

TEST(ResultsFolder, IsTheUsersWithItsName) {
  const TemporaryFolder parent;
  EXPECT_EQ(own_folder(parent / "mine/first/", 0).filename(), "first");
  EXPECT_TRUE(fs::is_empty(parent / "mine/first"));
  parent.write("second/stdout.log", "a launcher's log is no run");
  EXPECT_EQ(own_folder(parent / "second", 0).filename(), "second");
}

TEST(ResultsFolder, KeepsOutOfAnotherRun) {
  for (const char* name : {"manifest.json", "samples.csv", "launches", "COMPLETE"}) {
    const TemporaryFolder parent;
    parent.write(name, "");
    EXPECT_THAT(message_of<UsageError>([&] { own_folder(parent.path(), 0); }),
                AllOf(HasSubstr("already holds a run"), HasSubstr(name)));
  }
}

TEST(File, IsReplacedWholeOrNotAtAll) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "a.json", "old");
  write_file_atomically(folder / "a.json", "new");
  EXPECT_EQ(read_file(folder / "a.json"), "new");
  fs::create_directory(folder / "taken");
  EXPECT_THROW(write_file_atomically(folder / "taken", "x"), Error);
  EXPECT_THROW(write_file_atomically(folder / "none/a.json", "x"), Error);
  for (const fs::directory_entry& entry : fs::directory_iterator(folder.path())) {
    EXPECT_FALSE(is_temporary_file(entry.path())) << entry.path();
  }
  EXPECT_TRUE(is_temporary_file(".a.json.tmp-x1Y2z3"));
}

TEST(File, GetsThePermissionsOfAnyOther) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "a", "x");
  EXPECT_EQ(fs::status(folder / "a").permissions(),
            fs::status(folder.write("b", "x")).permissions());
}

TEST(FolderLock, IsHeldByOneUntilItsEnd) {
  const TemporaryFolder folder;
  {
    const FolderLock lock(folder.path());
    EXPECT_THAT(message_of<UsageError>([&] { FolderLock second(folder.path()); }),
                AllOf(HasSubstr(folder.path().string()), HasSubstr(std::to_string(getpid()))));
  }
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

TEST(PlainName, StaysInItsFolder) {
  EXPECT_EQ(plain_name("../../ETC/passwd"), "-.-..-etc-passwd");
  EXPECT_EQ(plain_name("..."), "-..");
  EXPECT_EQ(plain_name(""), "file");
  EXPECT_EQ(plain_name("gr\xc3\xb6\xc3\x9f"
                       "e.log"),
            "gr----e.log");
  for (const char* const name : {"../../ETC/passwd", "...", "My Study"}) {
    EXPECT_FALSE(is_plain_name(name));
    EXPECT_TRUE(is_plain_name(plain_name(name)));
  }
}

}  // namespace
}  // namespace scalebench
