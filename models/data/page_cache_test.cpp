// SPDX-License-Identifier: Apache-2.0
#include "models/data/page_cache.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include "models/testing.hpp"

namespace scalebench {
namespace {

TEST(PageCache, CountsThePagesOfAFile) {
  const TemporaryFolder folder;
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  write_plain(folder.path() / "file", Bytes(3 * page + 1, 7));
  read_into_page_cache(folder.path() / "file");
  const Residency warm = residency_of(folder.path() / "file");
  EXPECT_EQ(warm.pages, 4);
  EXPECT_EQ(warm.resident, 4) << "four pages that were just read";
  EXPECT_EQ(warm.unknown_files, 0);
  drop_from_page_cache(folder.path() / "file");
  const Residency cold = residency_of(folder.path() / "file");
  EXPECT_EQ(cold.pages, 4);
  // A file system in memory keeps them all: how many are left is measured, not promised.
  EXPECT_LE(cold.resident, warm.resident);
  write_plain(folder.path() / "empty", {});
  EXPECT_EQ(residency_of(folder.path() / "empty").pages, 0);
}

TEST(PageCache, AddsUp) {
  Residency sum{1, 1, 0};
  sum += {4, 2, 1};
  EXPECT_EQ(sum.pages, 5);
  EXPECT_EQ(sum.resident, 3);
  EXPECT_EQ(sum.unknown_files, 1);
}

TEST(PageCache, NamesAFileThatIsNotThere) {
  expect_error<Error>([] { drop_from_page_cache("/nowhere/file"); }, {"/nowhere/file", "open"});
  expect_error<Error>([] { read_into_page_cache("/nowhere/file"); }, {"/nowhere/file", "open"});
  expect_error<Error>([] { residency_of("/nowhere/file"); }, {"/nowhere/file", "open"});
}

}  // namespace
}  // namespace scalebench
