// SPDX-License-Identifier: Apache-2.0
#include "models/gradients/reducer.hpp"

#include <gtest/gtest.h>

#include <latch>
#include <stdexcept>
#include <vector>

namespace scalebench {
namespace {

TEST(ProgressThread, DoesWhatIsPostedInOrderOnOneOtherThread) {
  std::vector<int> done;
  std::thread::id first, other;
  ProgressThread thread([&] { first = std::this_thread::get_id(); });
  for (int i = 0; i < 100; ++i) {
    thread.post([&, i] {
      done.push_back(i);
      other = std::this_thread::get_id();
    });
  }
  thread.wait();
  ASSERT_EQ(done.size(), 100U);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(done[static_cast<std::size_t>(i)], i);
  EXPECT_EQ(first, other);
  EXPECT_NE(first, std::this_thread::get_id());
}

TEST(ProgressThread, ThrowsWhereItIsWaitedForAndDropsTheRest) {
  ProgressThread thread;
  int done = 0;
  std::latch both_posted(1);
  thread.post([&] {
    both_posted.wait();
    throw std::runtime_error("the first");
  });
  thread.post([&] { ++done; });
  both_posted.count_down();
  EXPECT_THROW(thread.wait(), std::runtime_error);
  EXPECT_EQ(done, 0);
  thread.post([&] { ++done; });
  EXPECT_NO_THROW(thread.wait());
  EXPECT_EQ(done, 1);
}

TEST(ProgressThread, ThrowsWhatItsBeginningThrew) {
  ProgressThread thread([] { throw std::runtime_error("no such device"); });
  EXPECT_THROW(thread.wait(), std::runtime_error);
}

TEST(ProgressThread, EndsWhatWasPostedBeforeItEnds) {
  int done = 0;
  {
    ProgressThread thread;
    for (int i = 0; i < 10; ++i) thread.post([&] { ++done; });
  }
  EXPECT_EQ(done, 10);
}

}  // namespace
}  // namespace scalebench
