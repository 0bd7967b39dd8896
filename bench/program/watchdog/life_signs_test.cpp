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
#include <functional>
#include <string>
#include <thread>

#include "kernels/testing.hpp"

namespace scalebench {
namespace {

void sleep() { std::this_thread::sleep_for(std::chrono::milliseconds(300)); }

/// A child that does that for ever.
class Child {
 public:
  explicit Child(const std::function<void()>& body) : process_(fork()) {
    if (process_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (true) body();
  }
  ~Child() {
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }
  pid_t process() const { return process_; }

 private:
  const pid_t process_;
};

/// In one of a hundred looks.
bool comes_to(LifeSigns& signs, const std::function<bool(LifeSigns::Look)>& is_so) {
  for (int look = 0; look < 100; ++look) {
    sleep();
    if (is_so(signs.look())) return true;
  }
  return false;
}

TEST(LifeSigns, AProcessThatSleepsShowsNone) {
  const Child child([] { pause(); });
  LifeSigns signs(child.process());
  EXPECT_TRUE(comes_to(signs, [](LifeSigns::Look look) { return !look.alive && !look.stopped; }));
}

TEST(LifeSigns, AProcessThatComputesShowsThem) {
  const Child child([] {});
  LifeSigns signs(child.process());
  EXPECT_TRUE(comes_to(signs, [](LifeSigns::Look look) { return look.alive; }));
}

TEST(LifeSigns, AProcessWhoseOtherThreadComputesShowsThem) {
  const Child child([] {
    std::thread([] {
      while (true) {
      }
    }).join();
  });
  LifeSigns signs(child.process());
  EXPECT_TRUE(comes_to(signs, [](LifeSigns::Look look) { return look.alive; }));
}

TEST(LifeSigns, AProcessThatIsStoppedSaysSo) {
  const Child child([] {});
  LifeSigns signs(child.process());
  kill(child.process(), SIGSTOP);
  EXPECT_TRUE(comes_to(signs, [](LifeSigns::Look look) { return look.stopped && !look.alive; }));
}

/// Whether a write is a sign, which takes next to no time.
bool shows_a_write_to(int file) {
  LifeSigns signs(getpid());
  // By another thread than the main one, which is then not seen running.
  const auto is_alive = [&] {
    bool alive = false;
    std::thread([&] {
      sleep();
      alive = signs.look().alive;
    }).join();
    return alive;
  };
  is_alive();
  const std::string bytes(4096, 'x');
  EXPECT_EQ(write(file, bytes.data(), bytes.size()), 4096);
  return is_alive();
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

TEST(LifeSigns, AProcessThatGetsNextToNoTimeShowsThem) {
  cpu_set_t allowed{};
  ASSERT_EQ(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
  int processor = 0;
  while (!CPU_ISSET(processor, &allowed)) ++processor;
  const auto share_one = [&](int niceness) {
    return [processor, niceness] {
      cpu_set_t one{};
      CPU_SET(processor, &one);
      if (sched_setaffinity(0, sizeof(one), &one) != 0 || nice(niceness) < 0) _exit(1);
      while (true) {
      }
    };
  };
  const Child greedy(share_one(0)), starved(share_one(19));
  LifeSigns signs(starved.process());
  sleep();
  signs.look();
  for (int look = 0; look < 5; ++look) {
    sleep();
    EXPECT_TRUE(signs.look().alive);
  }
}

}  // namespace
}  // namespace scalebench
