// SPDX-License-Identifier: Apache-2.0
#include "bench/program/program.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <stdexcept>
#include <system_error>

#include "bench/record/file.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

std::filesystem::filesystem_error of_file(int reason) {
  return {"status", "results/run", std::error_code(reason, std::generic_category())};
}

TEST(CodeOfFailure, IsUsageWhereAPathLeadsNowhere) {
  EXPECT_EQ(code_of_failure(UsageError("no")), ExitCode::usage);
  for (const int reason : {EACCES, ENOENT, ENOTDIR, ELOOP, ENAMETOOLONG}) {
    EXPECT_EQ(code_of_failure(of_file(reason)), ExitCode::usage) << reason;
  }
  EXPECT_EQ(text_of_failure(of_file(EACCES)), "results/run: Permission denied");
  const std::filesystem::filesystem_error here("cannot get current path",
                                               std::make_error_code(std::errc::io_error));
  EXPECT_STREQ(text_of_failure(here).c_str(), here.what());
}

TEST(CodeOfFailure, IsIncompleteWhereTheDiskIsFull) {
  EXPECT_EQ(code_of_failure(DiskFull("no")), ExitCode::incomplete);
  EXPECT_EQ(code_of_failure(of_file(ENOSPC)), ExitCode::incomplete);
}

TEST(CodeOfFailure, IsInternalElsewhere) {
  EXPECT_EQ(code_of_failure(of_file(EIO)), ExitCode::internal);
  EXPECT_EQ(code_of_failure(std::runtime_error("no")), ExitCode::internal);
  EXPECT_EQ(text_of_failure(std::runtime_error("no")), "no");
}

}  // namespace
}  // namespace scalebench
