// SPDX-License-Identifier: Apache-2.0
#include "bench/cli/quantity.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/error.hpp"

namespace scalebench {
namespace {

TEST(ParseRate, FollowsItsRule) {
  EXPECT_EQ(parse_rate("1gbit"), 1e9);
  EXPECT_EQ(parse_rate("100mbit"), 1e8);
  EXPECT_EQ(parse_rate("2.5gbit"), 2.5e9);
  EXPECT_EQ(parse_rate("64kbit"), 64e3);
  EXPECT_EQ(parse_rate("9600bit"), 9600);
  EXPECT_EQ(parse_rate("1.6tbit"), 1.6e12);
}

TEST(ParseDuration, FollowsItsRule) {
  EXPECT_EQ(parse_duration("50us"), 50e-6);
  EXPECT_EQ(parse_duration("0.5ms"), 0.5e-3);
  EXPECT_EQ(parse_duration("2s"), 2);
  EXPECT_EQ(parse_duration("700ns"), 700e-9);
  EXPECT_EQ(parse_duration("0us"), 0);
}

/// Texts that are refused for one reason.
struct Refused {
  std::string_view why;
  std::vector<std::string> texts;
};

/// `option`: how a message begins, before the text.
template <typename Parse>
void expect_refused(Parse parse, const std::vector<Refused>& all, std::string_view rule,
                    const std::string& option = "") {
  for (const auto& [why, texts] : all) {
    for (const std::string& text : texts) {
      try {
        const auto value = parse(text);
        ADD_FAILURE() << "'" << text << "' accepted as " << value;
      } catch (const UsageError& error) {
        EXPECT_EQ(error.what(), fmt::format("{}'{}' {}; valid: {}", option, text, why, rule));
      }
    }
  }
}

TEST(ParseRate, RefusesEverythingElseWithOneLine) {
  expect_refused(
      parse_rate,
      {{"is not a rate", {"", "x", "gbit", ".gbit", "nan", "inf", "infgbit", " 1gbit", "+1gbit"}},
       {"has no unit", {"1", "1000000000"}},
       {"is negative", {"-1gbit"}},
       {"is no rate at all", {"0gbit"}},
       {"has an unknown unit",
        {"1 gbit", "1Gbit", "1GB/s", "1gbit/s", "1gbps", "1.2.3gbit", "0x1gbit", "1,5gbit",
         "1gbit "}}},
      kRateRule);
}

TEST(ParseDuration, RefusesEverythingElseWithOneLine) {
  expect_refused(parse_duration,
                 {{"is not a duration", {"", "x", "us"}},
                  {"has no unit", {"1"}},
                  {"is negative", {"-1us"}},
                  {"has an unknown unit", {"1 us", "1m", "1min", "50µs", "1..us", "1us2"}}},
                 kDurationRule);
}

TEST(ParseSize, FollowsItsRule) {
  EXPECT_EQ(parse_size("-b", "0"), 0U);
  EXPECT_EQ(parse_size("-b", "8"), 8U);
  EXPECT_EQ(parse_size("-b", "64K"), 65536U);
  EXPECT_EQ(parse_size("-b", "64M"), 67108864U);
  EXPECT_EQ(parse_size("-b", "1GiB"), 1073741824U);
  EXPECT_EQ(parse_size("-b", "1e6"), 1000000U);
  EXPECT_EQ(parse_size("-b", "1.5e3"), 1500U);
  EXPECT_EQ(parse_size("-b", "1.5K"), 1536U);
  EXPECT_EQ(parse_size("-b", "9007199254740991"), (std::size_t{1} << 53U) - 1);
}

TEST(ParseSize, RefusesEverythingElseWithOneLine) {
  expect_refused([](const std::string& text) { return parse_size("-b", text); },
                 {{"is not a size", {"", "x", "nan", "inf", "KiB"}},
                  {"is negative", {"-1", "-64M"}},
                  {"is too large", {"1e400", "1e308T", "1e30", "9007199254740993", "9999999999G"}},
                  {"is not a whole number of bytes", {"0.5", "1.1K"}},
                  {"has an unknown unit",
                   {"1 M", "64Mi", "1M1", "1_000", "64MB", "1kB", "64mb", "64 MiB", "1,000", "0x10",
                    "1,5", "1e"}}},
                 kSizeRule, "-b: ");
}

TEST(ShowSize, IsExact) {
  EXPECT_EQ(show_size(1000), "1000 B");
  EXPECT_EQ(show_size(65536), "64 KiB");
  EXPECT_EQ(show_size(65537), "65537 B");
  EXPECT_EQ(show_size(std::size_t{3} << 30U), "3 GiB");
}

TEST(ShowTime, IsInTheUnitOfItsSize) {
  EXPECT_EQ(show_time(1.234e-5), "12.3 us");
  EXPECT_EQ(show_time(4.567e-3), "4.57 ms");
  EXPECT_EQ(show_time(28.224), "28.2 s");
  EXPECT_EQ(show_time(998), "16.6 min");
  EXPECT_EQ(show_time(30585.6), "8.50 h");
  EXPECT_EQ(show_time(2e6), "556 h");
  EXPECT_EQ(show_time(28.224, 28.1, 28.3), "28.2 s [28.1, 28.3]");
  EXPECT_EQ(show_time(std::nan("")), "-");
}

TEST(ShowUsd, HasTheDigitsThatAPersonReads) {
  EXPECT_EQ(show_usd(12.15024), "12.15");
  EXPECT_EQ(show_usd(3.3932), "3.39");
  EXPECT_EQ(show_usd(0.09752), "0.0975");
  EXPECT_EQ(show_usd(1234.4), "1234");
  EXPECT_EQ(show_usd(3.39, 3.38, 3.41), "3.39 [3.38, 3.41]");
  EXPECT_EQ(show_usd(std::nan("")), "-");
}

}  // namespace

}  // namespace scalebench
