// SPDX-License-Identifier: Apache-2.0
#include "bench/launch/turns.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <sstream>
#include <string>

namespace scalebench {
namespace {

const std::atomic<bool> kNoStop{false};

/// A launch of two ranks, as the programs' own: it asks, and is told to go.
class Launch {
 public:
  Launch(const Turns& turns, std::size_t launch) {
    std::istringstream names(turns.variables(launch).at(0).second);
    std::string its, others, ready;
    EXPECT_TRUE(names >> its >> others >> ready);
    its_ = Descriptor(open(its.c_str(), O_RDONLY | O_CLOEXEC));
    others_ = Descriptor(open(others.c_str(), O_WRONLY | O_CLOEXEC));
    ready_ = Descriptor(open(ready.c_str(), O_WRONLY | O_CLOEXEC));
    EXPECT_TRUE(its_.is_open() && others_.is_open() && ready_.is_open());
  }
  void is_ready() const { EXPECT_EQ(write(ready_.number(), ".", 1), 1); }
  void passes_on() const { EXPECT_EQ(write(others_.number(), "..", 2), 2); }
  /// Both ranks of it are told to go, and told so once.
  bool goes() const {
    std::string words(3, ' ');
    return is_told() && read(its_.number(), words.data(), words.size()) == 2;
  }
  bool is_told() const {
    pollfd word{its_.number(), POLLIN, 0};
    return poll(&word, 1, 0) == 1;
  }
  /// At the end of what it can be told.
  bool is_alone() const {
    char word = 0;
    return is_told() && read(its_.number(), &word, 1) == 0;
  }

 private:
  Descriptor its_, others_, ready_;
};

TEST(Turns, BeginWhenBothAreThereAndAreTakenOneAfterTheOther) {
  Turns turns(2);
  const Launch a(turns, 0), b(turns, 1);
  a.is_ready();
  turns.until_ready(kNoStop);
  b.is_ready();
  turns.until_ready(kNoStop);
  EXPECT_FALSE(a.is_told() || b.is_told());
  turns.begin();
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(b.is_told());
    EXPECT_TRUE(a.goes());
    a.passes_on();
    EXPECT_FALSE(a.is_told());
    EXPECT_TRUE(b.goes());
    b.passes_on();
  }
}

TEST(Turns, ALaunchWhoseRanksNeverAskIsWaitedForUntilItsEnd) {
  Turns turns(2);
  turns.ended(0);
  turns.until_ready(kNoStop);
}

TEST(Turns, AnInterruptionEndsTheWait) {
  Turns turns(2);
  const std::atomic<bool> stop{true};
  turns.until_ready(stop);
}

TEST(Turns, ALaunchThatHasEndedLeavesTheHostToTheOther) {
  for (const std::size_t ended : {std::size_t{0}, std::size_t{1}}) {
    Turns turns(2);
    const Launch rest(turns, 1 - ended);
    {
      const Launch gone(turns, ended);
      turns.ended(ended);
      EXPECT_FALSE(rest.is_told()) << "while there is a process of it";
    }
    turns.begin();
    EXPECT_TRUE(rest.is_alone());
  }
}

}  // namespace
}  // namespace scalebench
