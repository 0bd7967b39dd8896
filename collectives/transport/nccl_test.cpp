// SPDX-License-Identifier: Apache-2.0
// Which NCCL takes two ranks on one device and which registration, by its version; and that nobody
// is told to by accident.
#include "collectives/transport/nccl.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "kernels/error.hpp"
#include "kernels/testing.hpp"

namespace scalebench {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// What NCCL answers is made up: a real one needs cards.
TEST(NcclWait, AbortsAndSaysWhatWentWrongBesideTheStream) {
  int asked = 0, aborted = 0;
  const auto never_done = [] { return false; };
  const auto fails_later = [&] {
    return ++asked < 4 ? std::string() : std::string("remote process exited (rank 1)");
  };
  try {
    wait_beside_errors(never_done, fails_later, [&] { ++aborted; });
    FAIL() << "waited for a stream that is stuck for ever";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "nccl: remote process exited (rank 1)");
  }
  EXPECT_EQ(asked, 4);
  EXPECT_EQ(aborted, 1) << "else what is enqueued would hold up the end of the process";
}

TEST(NcclWait, EndsWithTheStream) {
  int looked = 0, aborted = 0;
  wait_beside_errors([&] { return ++looked == 3; }, [] { return std::string(); },
                     [&] { ++aborted; });
  EXPECT_EQ(looked, 3);
  EXPECT_EQ(aborted, 0);
}

TEST(NcclSharing, IsRefusedBefore2303) {
  EXPECT_THAT(why_nccl_cannot_share(22803), AllOf(HasSubstr("NCCL 2.28.3"), HasSubstr("2.30.3")));
  EXPECT_NE(why_nccl_cannot_share(23002), "");
  EXPECT_EQ(why_nccl_cannot_share(23003), "");
  EXPECT_EQ(why_nccl_cannot_share(23104), "");
  EXPECT_THAT(why_nccl_cannot_share(0), HasSubstr("no NCCL"));
}

TEST(NcclSharing, IsAllowedOnlyWhenItWasAskedForAndNcclCan) {
  unsetenv("NCCL_MULTI_RANK_GPU_ENABLE");
  EXPECT_FALSE(nccl_shares_devices());
  setenv("NCCL_MULTI_RANK_GPU_ENABLE", "1", 1);
  const bool can = why_nccl_cannot_share(nccl_version_code()).empty();
  EXPECT_EQ(nccl_shares_devices(), can) << "an older NCCL does not know the variable";
  unsetenv("NCCL_MULTI_RANK_GPU_ENABLE");
}

TEST(NcclRegistration, NeedsAVersionThatHasIt) {
  EXPECT_EQ(why_nccl_cannot_register(Registration::none, 21405), "");
  EXPECT_EQ(why_nccl_cannot_register(Registration::local, 21900), "");
  EXPECT_THAT(why_nccl_cannot_register(Registration::local, 21805),
              AllOf(HasSubstr("NCCL 2.18.5"), HasSubstr("ncclCommRegister"), HasSubstr("2.19.0")));
  EXPECT_EQ(why_nccl_cannot_register(Registration::symmetric, 22703), "");
  EXPECT_THAT(why_nccl_cannot_register(Registration::symmetric, 22602),
              AllOf(HasSubstr("NCCL 2.26.2"), HasSubstr("symmetric windows"), HasSubstr("2.27.0")));
  for (const Registration any : kRegistrations) {
    EXPECT_THAT(why_nccl_cannot_register(any, 0), HasSubstr("no NCCL"));
  }
}

TEST(NcclSharing, VersionsReadAsPeopleWriteThem) {
  EXPECT_EQ(nccl_version_text(22803), "2.28.3");
  EXPECT_EQ(nccl_version_text(0), "");
  EXPECT_EQ(nccl_version_text(nccl_version_code()), nccl_version());
}

}  // namespace
}  // namespace scalebench
