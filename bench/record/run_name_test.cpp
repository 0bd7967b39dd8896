// SPDX-License-Identifier: Apache-2.0
// A run is found by each of the ways in which it may be named, and never is it one that a night has
// measured beside its own.
#include "bench/record/run_name.hpp"

#include <gtest/gtest.h>

#include "bench/record/manifest.hpp"
#include "kernels/error.hpp"
#include "kernels/testing.hpp"

namespace scalebench::run_name_test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNight = "20260301T000000Z-a-000000";

void make_run(const fs::path& folder) {
  fs::create_directories(folder);
  write_manifest(folder, Manifest());
}

TEST(RunMeant, LatestIsTheNewestRunOfAFolder) {
  const TemporaryFolder folder;
  for (const char* const name :
       {"20260101T000000Z-a-000000", kNight, "20260401T000000Z-no-run", "nightly"}) {
    fs::create_directories(folder.path() / name);
  }
  EXPECT_EQ(run_meant("results/one"), "results/one");
  EXPECT_EQ(run_meant("results/one/"), "results/one");
  EXPECT_EQ(run_meant("/"), "/");
  EXPECT_THROW(run_meant(folder.path() / "latest"), UsageError);
  for (const char* const name : {"20260101T000000Z-a-000000", kNight, "nightly"}) {
    make_run(folder.path() / name);
  }
  EXPECT_EQ(run_meant(folder.path() / "latest"), folder.path() / kNight);
  EXPECT_EQ(run_meant(folder.path() / "latest" / ""), folder.path() / kNight);
  fs::create_directories(folder.path() / "latest");
  EXPECT_EQ(run_meant(folder.path() / "latest"), folder.path() / "latest") << "a folder called so";
}

TEST(RunMeant, LatestIsNoSideRunOfANight) {
  const TemporaryFolder folder;
  make_run(folder.path() / kNight);
  for (const std::string& name :
       {accepted_name(kNight), rerun_name(kNight), accepted_name(rerun_name(kNight))}) {
    make_run(folder.path() / name);
    EXPECT_TRUE(is_side_run(name));
  }
  EXPECT_EQ(run_meant(folder.path() / "latest"), folder.path() / kNight);
}

}  // namespace
}  // namespace scalebench::run_name_test
