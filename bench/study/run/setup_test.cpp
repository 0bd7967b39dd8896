// SPDX-License-Identifier: Apache-2.0
// What comes after a result, and costs none where it fails.
#include "bench/study/run/setup.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/testing.hpp"

namespace scalebench {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class AfterTheResult : public testing::Test {
 protected:
  template <class Work>
  std::string said_by(const Work& work) {
    testing::internal::CaptureStderr();
    EXPECT_NO_THROW(work());
    return testing::internal::GetCapturedStderr();
  }

  const TemporaryFolder folder_;
  Console console_{/*speaks=*/true, /*quiet=*/true};
};

TEST_F(AfterTheResult, AFolderForPicturesThatCannotBeMadeIsAWarning) {
  folder_.write("figures", "no folder");
  const std::string said = said_by([&] { EXPECT_FALSE(draw(folder_.path(), "plot", console_)); });
  EXPECT_THAT(said, AllOf(HasSubstr("warning: plot: "), HasSubstr("what was measured is kept")));
}

}  // namespace
}  // namespace scalebench
