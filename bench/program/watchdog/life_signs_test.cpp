// SPDX-License-Identifier: Apache-2.0
#include "bench/program/watchdog/life_signs.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <ctime>
#include <functional>
#include <string>
#include <thread>

#include "kernels/testing.hpp"

namespace scalebench {
namespace {

void sleep() { std::this_thread::sleep_for(std::chrono::milliseconds(300)); }

/// Looks as a watchdog does: on another thread than the main one.
bool any_of(LifeSigns& signs) {
  bool any = false;
  std::thread([&] { any = signs.any(); }).join();
  return any;
}

TEST(LifeSigns, AProcessThatSleepsShowsNone) {
  LifeSigns signs;
  bool any = any_of(signs);
  // Threads of a library spin for a moment after they have begun.
  for (int look = 0; look < 100 && any; ++look) {
    sleep();
    any = any_of(signs);
  }
  EXPECT_FALSE(any);
}

TEST(LifeSigns, AProcessThatComputesShowsThem) {
  LifeSigns signs;
  any_of(signs);
  // By its own time on a processor, however many others want it.
  const std::clock_t end = std::clock() + CLOCKS_PER_SEC / 5;
  while (std::clock() < end) {
  }
  EXPECT_TRUE(any_of(signs));
}

/// Whether a write is a sign, which takes next to no time.
bool shows_a_write_to(int file) {
  LifeSigns signs;
  sleep();
  any_of(signs);
  const std::string bytes(4096, 'x');
  EXPECT_EQ(write(file, bytes.data(), bytes.size()), 4096);
  sleep();
  return any_of(signs);
}

TEST(LifeSigns, AProcessThatWritesAFileShowsThem) {
  const TemporaryFolder folder;
  const int file = open((folder / "file").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  ASSERT_GE(file, 0);
  EXPECT_TRUE(shows_a_write_to(file));
  close(file);
}

TEST(LifeSigns, AlsoWhereNoDiskIsBehindTheFile) {
  const int file = memfd_create("life_signs_test", MFD_CLOEXEC);
  ASSERT_GE(file, 0);
  EXPECT_TRUE(shows_a_write_to(file));
  close(file);
}

/// On one processor with another process that has a hundred times its share.
TEST(LifeSigns, AProcessThatGetsNextToNoTimeShowsThem) {
  cpu_set_t allowed{};
  ASSERT_EQ(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
  int processor = 0;
  while (!CPU_ISSET(processor, &allowed)) ++processor;
  const auto start = [&](int niceness, const std::function<bool()>& body) {
    const pid_t child = fork();
    if (child != 0) return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    cpu_set_t one{};
    CPU_SET(processor, &one);
    const bool is_pinned = sched_setaffinity(0, sizeof(one), &one) == 0;
    [[maybe_unused]] const int nicer = nice(niceness);
    _exit(is_pinned && body() ? 0 : 1);
  };
  const pid_t greedy = start(0, [] {
    while (getppid() != 0) {
    }
    return true;
  });
  const pid_t starved = start(19, [] {
    LifeSigns signs;
    any_of(signs);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(2);
    while (std::chrono::steady_clock::now() < end) {
    }
    return any_of(signs);
  });
  int status = -1;
  EXPECT_EQ(waitpid(starved, &status, 0), starved);
  EXPECT_EQ(status, 0);
  kill(greedy, SIGKILL);
  waitpid(greedy, nullptr, 0);
}

}  // namespace
}  // namespace scalebench
