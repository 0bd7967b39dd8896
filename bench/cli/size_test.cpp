// SPDX-License-Identifier: Apache-2.0
#include "bench/cli/size.hpp"

#include <gtest/gtest.h>

#include "kernels/error.hpp"

namespace scalebench {
namespace {

TEST(ParseSize, FollowsItsRule) {
  EXPECT_EQ(parse_size("-b", "0"), 0U);
  EXPECT_EQ(parse_size("-b", "8"), 8U);
  EXPECT_EQ(parse_size("-b", "64K"), 65536U);
  EXPECT_EQ(parse_size("-b", "64M"), 67108864U);
  EXPECT_EQ(parse_size("-b", "1GiB"), 1073741824U);
  EXPECT_EQ(parse_size("-b", "1e6"), 1000000U);
  EXPECT_EQ(parse_size("-b", "1.5e3"), 1500U);
  EXPECT_EQ(parse_size("-b", "4611686018427387904"), std::size_t{1} << 62U);
}

TEST(ParseSize, RefusesEverythingElseWithOneLine) {
  for (const char* text :
       {"", "x", "-1", "-64M", "64MB", "1kB", "1 M", "64Mi", "1e", "1e400", "0.5",
        "99999999999999999999", "9999999999G", "1M1", "0x10", "1,5", "nan", "1e30"}) {
    try {
      const std::size_t value = parse_size("-b", text);
      ADD_FAILURE() << "'" << text << "' accepted as " << value;
    } catch (const UsageError& error) {
      const std::string message = error.what();
      EXPECT_EQ(message.find("-b: '" + std::string(text) + "'"), 0U) << message;
      EXPECT_NE(message.find("valid: bytes as"), std::string::npos) << message;
      EXPECT_EQ(message.find('\n'), std::string::npos);
    }
  }
}

TEST(ShowSize, IsExact) {
  EXPECT_EQ(show_size(1000), "1000 B");
  EXPECT_EQ(show_size(65536), "64 KiB");
  EXPECT_EQ(show_size(65537), "65537 B");
  EXPECT_EQ(show_size(std::size_t{3} << 30U), "3 GiB");
}

}  // namespace
}  // namespace scalebench
