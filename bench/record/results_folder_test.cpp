// SPDX-License-Identifier: Apache-2.0
// Folders are new, contained, writable and roomy, or refused with a remedy; one writes in each at a
// time, also where the file system has no locks, and none is locked out for ever.
#include "bench/record/results_folder.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <limits>
#include <new>
#include <regex>
#include <string_view>
#include <thread>
#include <vector>

#include "bench/record/csv.hpp"
#include "bench/record/file.hpp"
#include "bench/record/testing.hpp"
#include "kernels/error.hpp"
#include "kernels/testing.hpp"

namespace scalebench {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(UtcTime, IsTheSameEverywhere) {
  EXPECT_EQ(utc_label(951782400), "2000-02-29T00:00:00Z");
  EXPECT_EQ(utc_name(1767225599), "20251231T235959Z");
}

TEST(ResultsFolder, IsNewAndNamedByTimeStudyAndChance) {
  const TemporaryFolder parent;
  const ResultsFolder a = ResultsFolder::create(parent / "results", "smoke", 0);
  const ResultsFolder b = ResultsFolder::create(parent / "results", "smoke", 0);
  EXPECT_NE(a.run_id(), b.run_id());
  EXPECT_TRUE(fs::is_empty(a.path()));
  EXPECT_TRUE(std::regex_match(a.run_id(), std::regex("[0-9]{8}T[0-9]{6}Z-smoke-[0-9a-f]{6}")));
  EXPECT_EQ(a.path(), parent.path() / "results" / a.run_id());
}

TEST(ResultsFolder, RefusesNamesThatLeaveTheirPlace) {
  const TemporaryFolder parent;
  for (const char* name : {"", "..", "a/b", "A", "a b", ".hidden", "ä", "$(x)"}) {
    EXPECT_THROW(ResultsFolder::create(parent.path(), name, 0), UsageError) << name;
  }
  EXPECT_TRUE(fs::is_empty(parent.path()));
}

TEST(ResultsFolder, RefusesWhenThereIsTooLittleRoom) {
  const TemporaryFolder parent;
  const std::string message = message_of<UsageError>([&] {
    ResultsFolder::create(parent.path(), "smoke", std::numeric_limits<std::uintmax_t>::max());
  });
  EXPECT_THAT(message,
              AllOf(HasSubstr(parent.path().string()), HasSubstr("free"), HasSubstr("--out")));
  EXPECT_TRUE(fs::is_empty(parent.path()));
}

TEST(ResultsFolder, RefusesWhatCannotBeWritten) {
  const TemporaryFolder parent;
  const fs::path file = parent.write("file", "");
  for (const fs::path& bad : {file, file / "below", fs::path("/proc/none")}) {
    EXPECT_THAT(message_of<UsageError>([&] { ResultsFolder::at(bad, 0); }),
                AllOf(HasSubstr(bad.string()), HasSubstr("--out")));
    EXPECT_THROW(ResultsFolder::create(bad, "smoke", 0), UsageError);
  }
  // For root too, which may write in any folder of a disk.
  EXPECT_THROW(ResultsFolder::at("/proc/self", 0), UsageError);
}

TEST(ResultsFolder, TakesTheUsersFolderAndItsName) {
  const TemporaryFolder parent;
  const ResultsFolder folder = ResultsFolder::at(parent / "mine/first/", 0);
  EXPECT_EQ(folder.run_id(), "first");
  EXPECT_EQ(parent.read("mine/first/manifest.json"), "") << "only its place is taken";
  EXPECT_THROW(ResultsFolder::at(parent / "mine/first", 0), UsageError);
  parent.write("second/stdout.log", "a launcher's log is no run");
  EXPECT_EQ(ResultsFolder::at(parent / "second", 0).run_id(), "second");
}

TEST(ResultsFolder, GivesBackOnlyThePlaceOfAManifest) {
  const TemporaryFolder parent;
  const ResultsFolder folder = ResultsFolder::at(parent / "mine", 0);
  folder.release();
  EXPECT_FALSE(fs::exists(folder.path() / "manifest.json"));
  EXPECT_NO_THROW(ResultsFolder::at(parent / "mine", 0)) << "nothing was written into it";
  parent.write("mine/manifest.json", "{}");
  folder.release();
  EXPECT_EQ(parent.read("mine/manifest.json"), "{}") << "a run's own";
}

TEST(ResultsFolder, OfTwoRunsAtOnceOneGetsIt) {
  const TemporaryFolder parent;
  std::atomic<int> got = 0, refused = 0;
  std::vector<std::thread> runs;
  for (int i = 0; i < 8; ++i) {
    runs.emplace_back([&] {
      try {
        ResultsFolder::at(parent / "same", 0);
        ++got;
      } catch (const UsageError&) {
        ++refused;
      }
    });
  }
  for (std::thread& run : runs) run.join();
  EXPECT_EQ(got, 1);
  EXPECT_EQ(refused, 7);
}

TEST(ResultsFolder, GoesOnOnlyWithARun) {
  const TemporaryFolder parent;
  EXPECT_THAT(message_of<UsageError>([&] { ResultsFolder::of_run(parent.path()); }),
              HasSubstr("is no run"));
}

TEST(ResultsFolder, KeepsOutOfAnotherRun) {
  for (const char* name : {"manifest.json", "samples.csv", "launches", "COMPLETE"}) {
    const TemporaryFolder parent;
    parent.write(name, "");
    EXPECT_THAT(message_of<UsageError>([&] { ResultsFolder::at(parent.path(), 0); }),
                AllOf(HasSubstr("already holds a run"), HasSubstr(name)));
  }
}

TEST(ResultsFolder, NumbersItsLaunches) {
  const TemporaryFolder parent;
  const ResultsFolder folder = ResultsFolder::at(parent.path(), 0);
  EXPECT_EQ(folder.make_launch(7, "epoch-p4"), folder.path() / "launches/007-epoch-p4");
  EXPECT_TRUE(fs::is_directory(folder.path() / "launches/007-epoch-p4"));
  EXPECT_THROW(folder.make_launch(7, "epoch-p4"), Error);
  EXPECT_THROW(folder.make_launch(8, "../x"), Error);
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

TEST(FolderLock, OfAFolderThatWasMovedIsNoneOfWhatIsThereNow) {
  for (const FolderLock::Flock& flock : {FolderLock::Flock(::flock), FolderLock::Flock(no_locks)}) {
    const TemporaryFolder parent;
    fs::create_directory(parent / "run");
    const FolderLock lock(parent / "run", flock);
    lock.require_held();
    fs::rename(parent / "run", parent / "moved");
    EXPECT_THAT(message_of<UsageError>([&] { lock.require_held(); }), HasSubstr("was moved"));
  }
  const TemporaryFolder parent;
  fs::create_directory(parent / "run");
  std::optional<FolderLock> first(std::in_place, parent / "run");
  fs::rename(parent / "run", parent / "moved");
  fs::create_directory(parent / "run");
  const FolderLock second(parent / "run");
  first.reset();
  second.require_held();
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

/// Left by a process of this host that is gone.
std::string left_over() {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  return fmt::format("2147483646 {}\n", host.data());
}

/// A process of its own that runs `body`, and ends with what that returns.
template <class Body>
pid_t process(Body body) {
  const pid_t child = fork();
  if (child != 0) return child;
  try {
    _exit(body());
  } catch (const std::exception&) {
    _exit(99);
  }
}

int status_of(pid_t process) {
  int status = 0;
  waitpid(process, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

constexpr int kHeld = 10, kRefused = 11;

/// The second process has seen the file that was left over, and is stopped there until the first
/// one has taken the lock: what it would remove then is the first one's.
TEST(FolderLock, IsNotTakenFromOneThatWasFasterToBreakIt) {
  const TemporaryFolder folder;
  folder.write(".lock.alone", left_over());
  std::array<int, 2> found{}, go{};
  ASSERT_EQ(pipe(found.data()), 0);
  ASSERT_EQ(pipe(go.data()), 0);
  const pid_t slow = process([&] {
    bool waited = false;
    try {
      const FolderLock lock(folder.path(), no_locks, [&] {
        char byte = 0;
        waited = write(found[1], "x", 1) == 1 && read(go[0], &byte, 1) == 1;
      });
      return waited ? kHeld : 0;
    } catch (const UsageError&) {
      return waited ? kRefused : 0;
    }
  });
  char byte = 0;
  ASSERT_EQ(read(found[0], &byte, 1), 1);
  {
    const FolderLock fast(folder.path(), no_locks);
    ASSERT_EQ(write(go[1], "x", 1), 1);
    EXPECT_EQ(status_of(slow), kRefused);
    EXPECT_TRUE(folder.read(".lock.alone").starts_with(std::to_string(getpid()) + " "));
  }
  for (const fs::directory_entry& entry : fs::directory_iterator(folder.path())) {
    EXPECT_EQ(entry.path().filename(), ".lock") << "where there are no locks, nobody removes it";
  }
  for (const int descriptor : {found[0], found[1], go[0], go[1]}) close(descriptor);
}

/// What two processes share while they race.
struct Race {
  std::atomic<int> found, ended, holders;
};

/// Whether both have come; long enough for any machine, and not for ever.
bool both(const std::atomic<int>& came) {
  for (int waited = 0; came < 2 && waited < 60'000; ++waited) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return came == 2;
}

/// A holder keeps the lock until the other has ended its attempt.
int raced(Race& race, const fs::path& folder) {
  bool met = false;
  const auto meet = [&] {
    if (met) return;
    ++race.found;
    met = both(race.found);
  };
  try {
    const FolderLock lock(folder, no_locks, meet);
    ++race.holders;
    ++race.ended;
    return met && both(race.ended) ? kHeld : 0;
  } catch (const UsageError&) {
    ++race.ended;
    return met ? kRefused : 0;
  }
}

TEST(FolderLock, OfTwoThatBreakItAtOnceOneHoldsIt) {
  void* const shared =
      mmap(nullptr, sizeof(Race), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  for (int round = 0; round < 200; ++round) {
    const TemporaryFolder folder;
    folder.write(".lock.alone", left_over());
    Race& race = *new (shared) Race{};
    const auto racer = [&] { return raced(race, folder.path()); };
    const pid_t first = process(racer), second = process(racer);
    const int sum = status_of(first) + status_of(second);
    ASSERT_EQ(race.holders, 1) << "round " << round;
    ASSERT_EQ(sum, kHeld + kRefused) << "round " << round;
    ASSERT_FALSE(fs::exists(folder / ".lock.alone.break"));
  }
  munmap(shared, sizeof(Race));
}

TEST(FolderLock, IsBrokenAlsoWhereOneWasKilledWhileItBrokeIt) {
  const TemporaryFolder folder;
  folder.write(".lock.alone", left_over());
  folder.write(".lock.alone.break", left_over());
  {
    const FolderLock lock(folder.path(), no_locks);
    EXPECT_FALSE(fs::exists(folder / ".lock.alone.break"));
    EXPECT_TRUE(is_lock_file(folder / ".lock.alone.break"));
  }
  folder.write(".lock.alone", left_over());
  folder.write(".lock.alone.break", "7 another-host\n");
  EXPECT_THAT(message_of<UsageError>([&] { FolderLock lock(folder.path(), no_locks); }),
              AllOf(HasSubstr("process 7 on another-host"), HasSubstr(".lock.alone.break'")));
  EXPECT_EQ(folder.read(".lock.alone"), left_over());
}

TEST(NightlyLock, ThatCannotBeWrittenIsFreeForTheNext) {
  const TemporaryFolder folder;
  {
    const FileSizeLimit full(0);
    EXPECT_THROW(NightlyLock night(folder.path()), UsageError);
  }
  EXPECT_TRUE(NightlyLock(folder.path()).held());
}

// Other users of the host -------------------------------------------------------------------------

/// A folder that everybody may look into.
class SharedFolder : public testing::Test {
 protected:
  SharedFolder() { fs::permissions(folder_.path(), fs::perms(0755)); }

  const TemporaryFolder folder_;
};

/// 1: it can be opened, which is all that flock needs.
int lock_of(const fs::path& path) {
  return open(path.c_str(), O_RDONLY) >= 0 || open(path.c_str(), O_RDWR) >= 0 ? 1 : 0;
}

TEST_F(SharedFolder, KeepsItsLocksFromOtherUsers) {
  { const NightlyLock night(folder_.path()); }  // its file stays
  const FolderLock lock(folder_.path());
  const auto taken = as_another_user(
      [&] { return lock_of(folder_ / ".nightly.lock") + 2 * lock_of(folder_ / ".lock"); });
  if (!taken) GTEST_SKIP() << kNoOtherUser;
  EXPECT_EQ(*taken, 0);
  // Of an earlier version, which anybody could read.
  fs::permissions(folder_ / ".nightly.lock", fs::perms(0644));
  { const NightlyLock night(folder_.path()); }
  EXPECT_EQ(as_another_user([&] { return lock_of(folder_ / ".nightly.lock"); }), 0);
}

TEST_F(SharedFolder, TellsAnotherUserWhoIsWriting) {
  fs::permissions(folder_.path(), fs::perms(0777));
  const FolderLock lock(folder_.path());
  const auto told = as_another_user([&] {
    const std::string line = message_of<UsageError>([&] { FolderLock second(folder_.path()); });
    return line.find("is being written by user 0; ") != std::string::npos ? 0 : 1;
  });
  if (!told) GTEST_SKIP() << kNoOtherUser;
  EXPECT_EQ(*told, 0);
}

TEST_F(SharedFolder, HasNoLockBehindALinkOrAnotherName) {
  const fs::path kept = folder_.write("kept", "mine");
  for (const char* const name : {".lock", ".nightly.lock"}) {
    const auto refusal = [&] {
      return message_of<UsageError>([&] {
        if (std::string_view(name) == ".lock") {
          FolderLock lock(folder_.path());
        } else {
          NightlyLock lock(folder_.path());
        }
      });
    };
    fs::create_symlink(kept, folder_ / name);
    EXPECT_THAT(refusal(), AllOf(HasSubstr(name), HasSubstr("is a link")));
    fs::remove(folder_ / name);
    fs::create_hard_link(kept, folder_ / name);
    EXPECT_THAT(refusal(), AllOf(HasSubstr(name), HasSubstr("has another name elsewhere")));
    fs::remove(folder_ / name);
    EXPECT_EQ(refusal(), "");
  }
  EXPECT_EQ(folder_.read("kept"), "mine");
}

TEST_F(SharedFolder, LinksOfOtherUsersAreNotFollowed) {
  if (geteuid() != 0) GTEST_SKIP() << kNoOtherUser;
  const fs::path kept = folder_.write("kept", "mine");
  const fs::path file = folder_ / "samples.csv", folder = folder_ / "run";
  fs::create_directory(folder_ / "elsewhere");
  const auto plant = [](const fs::path& to, const fs::path& link, uid_t owner) {
    fs::remove(link);
    fs::create_symlink(to, link);
    ASSERT_EQ(lchown(link.c_str(), owner, owner), 0);
  };
  constexpr uid_t kNobody = 65534;
  plant(kept, file, kNobody);
  plant(folder_ / "elsewhere", folder, kNobody);
  const auto is_refused =
      AllOf(HasSubstr("is a link that user 65534 has put there"), Not(HasSubstr("\n")));
  EXPECT_THAT(message_of<UsageError>([&] { CsvWriter writer(file, {"a"}); }), is_refused);
  EXPECT_THAT(message_of<UsageError>([&] { ResultsFolder::at(folder, 0); }), is_refused);
  EXPECT_THAT(message_of<UsageError>([&] { ResultsFolder::create(folder, "study", 0); }),
              is_refused);
  EXPECT_EQ(folder_.read("kept"), "mine");
  EXPECT_TRUE(fs::is_empty(folder_ / "elsewhere"));
  // One's own lead where they are to.
  plant(folder_ / "new.csv", file, 0);
  { CsvWriter writer(file, {"a"}); }
  EXPECT_EQ(folder_.read("new.csv"), "a\n");
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
