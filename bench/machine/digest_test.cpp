// SPDX-License-Identifier: Apache-2.0
// Vectors of FIPS 180-4 (the examples "abc" and a million times "a").
#include "bench/machine/digest.hpp"

#include <gtest/gtest.h>

#include "kernels/error.hpp"
#include "kernels/testing.hpp"

namespace scalebench {
namespace {

constexpr std::string_view kAbc =
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
constexpr std::string_view kMillion =
    "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";

TEST(Sha256, OfTexts) {
  EXPECT_EQ(sha256_of("abc"), kAbc);
  EXPECT_EQ(sha256_of(std::string(1'000'000, 'a')), kMillion);
}

TEST(Sha256, OfFiles) {
  const TemporaryFolder folder;
  EXPECT_EQ(sha256_of_file(folder.write("abc", "abc")), kAbc);
  EXPECT_EQ(sha256_of_file(folder.write("million", std::string(1'000'000, 'a'))), kMillion);
  EXPECT_THROW(sha256_of_file(folder / "none"), Error);
  EXPECT_THROW(sha256_of_file(folder.path()), Error);
}

}  // namespace
}  // namespace scalebench
