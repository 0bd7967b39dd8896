// SPDX-License-Identifier: Apache-2.0
#include "bench/launch/turns.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstddef>
#include <string>

namespace scalebench {
namespace {

const std::atomic<bool> kNoStop{false};

/// A rank as the programs' own: it asks, and is told to go.
class Rank {
 public:
  Rank(const Turns& turns, std::size_t launch)
      : socket_(connect_to_turns(turns.variables(launch).at(0).second)) {
    EXPECT_GE(socket_, 0);
  }
  ~Rank() { close(socket_); }
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  void ask() const { EXPECT_EQ(send(socket_, &kReady, 1, MSG_NOSIGNAL), 1); }
  /// Waits for it.
  bool goes() const {
    char word = 0;
    return read(socket_, &word, 1) == 1 && word == kGo;
  }
  /// Not for a while, in which the table has mostly heard what it was told before.
  bool is_told_nothing() const {
    constexpr int kWhileMilliseconds = 20;
    pollfd waits{socket_, POLLIN, 0};
    return poll(&waits, 1, kWhileMilliseconds) == 0;
  }

 private:
  int socket_;
};

TEST(Turns, NobodyBeginsBeforeAllRanksOfBothAreThere) {
  const Turns turns({2, 1});
  const Rank a0(turns, 0), a1(turns, 0), b(turns, 1);
  b.ask();
  turns.until_ready(1, kNoStop);
  a0.ask();
  EXPECT_TRUE(b.is_told_nothing());
  EXPECT_TRUE(a0.is_told_nothing());
  a1.ask();
  EXPECT_TRUE(a0.goes());
  EXPECT_TRUE(a1.goes());
  EXPECT_TRUE(b.is_told_nothing());
}

TEST(Turns, NobodyIsFoundUnderAnotherName) {
  const Turns turns({1, 1});
  EXPECT_EQ(connect_to_turns(turns.variables(0).at(0).second + "0"), -1);
  EXPECT_EQ(connect_to_turns(""), -1);
  EXPECT_EQ(connect_to_turns(std::string(200, 'n')), -1);
}

TEST(Turns, AreTakenOneAfterTheOther) {
  const Turns turns({1, 1});
  const Rank a(turns, 0), b(turns, 1);
  a.ask();
  turns.until_ready(0, kNoStop);
  b.ask();
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(a.goes());
    EXPECT_TRUE(b.is_told_nothing());
    a.ask();
    EXPECT_TRUE(b.goes());
    EXPECT_TRUE(a.is_told_nothing());
    b.ask();
  }
  EXPECT_TRUE(a.goes());
}

TEST(Turns, ALaunchThatHasEndedLeavesTheHostToTheOther) {
  Turns turns({1, 1});
  const Rank b(turns, 1);
  b.ask();
  turns.ended(0);
  EXPECT_TRUE(b.goes());
  b.ask();
  EXPECT_TRUE(b.goes());
  turns.ended(1);
  turns.until_ready(1, kNoStop);
}

TEST(Turns, ALaunchThatKnowsNoneIsWaitedForUntilItsEnd) {
  Turns turns({1, 1});
  const Rank b(turns, 1);
  b.ask();
  turns.until_ready(1, kNoStop);
  EXPECT_TRUE(b.is_told_nothing());
  turns.ended(0);
  EXPECT_TRUE(b.goes());
}

TEST(Turns, WhatALaunchHasWaitedIsToldApart) {
  Turns turns({1, 1});
  const Rank a(turns, 0), b(turns, 1);
  a.ask();
  turns.until_ready(0, kNoStop);
  EXPECT_EQ(turns.waited(0), 0) << "before its turn";
  b.ask();
  EXPECT_TRUE(a.goes());
  turns.ended(0);
  EXPECT_TRUE(b.goes());
  EXPECT_GT(turns.waited(0), 0);
  EXPECT_GT(turns.waited(1), 0);
}

TEST(Turns, ARankThatIsGoneIsNotWaitedFor) {
  const std::atomic<bool> stop{true};
  Turns turns({1, 1});
  {
    const Rank gone(turns, 0);
    gone.ask();
    turns.until_ready(0, kNoStop);
  }
  turns.until_ready(1, stop);  // a signal ends the wait, not only the rank's coming
  const Rank b(turns, 1);
  b.ask();
  turns.ended(0);
  EXPECT_TRUE(b.goes());
}

}  // namespace
}  // namespace scalebench
