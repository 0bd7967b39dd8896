// SPDX-License-Identifier: Apache-2.0
#include "bench/cli/rate.hpp"

#include <gtest/gtest.h>

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

template <typename Parse>
void expect_refused(Parse parse, std::initializer_list<const char*> texts, std::string_view rule) {
  for (const char* text : texts) {
    try {
      const double value = parse(text);
      ADD_FAILURE() << "'" << text << "' accepted as " << value;
    } catch (const UsageError& error) {
      const std::string message = error.what();
      EXPECT_EQ(message.find("'" + std::string(text) + "'"), 0U) << message;
      EXPECT_NE(message.find(rule), std::string::npos) << message;
      EXPECT_EQ(message.find('\n'), std::string::npos);
    }
  }
}

TEST(ParseRate, RefusesEverythingElseWithOneLine) {
  expect_refused(parse_rate,
                 {"",       "x",     "gbit",  "1",       "1000000000", "-1gbit",  "0gbit",
                  "1 gbit", "1Gbit", "1GB/s", "1gbit/s", "1gbps",      "1e3mbit", "1.2.3gbit",
                  ".gbit",  "nan",   "inf",   "0x1gbit", "1,5gbit",    "1gbit "},
                 kRateRule);
}

TEST(ParseDuration, RefusesEverythingElseWithOneLine) {
  expect_refused(
      parse_duration,
      {"", "x", "us", "1", "-1us", "1 us", "1m", "1min", "50µs", "1e3us", "1..us", "1us2"},
      kDurationRule);
}

TEST(ShowRate, IsReadBackAsTheSame) {
  EXPECT_EQ(show_rate(1e9), "1gbit");
  EXPECT_EQ(show_rate(2.5e9), "2.5gbit");
  EXPECT_EQ(show_rate(1e8), "100mbit");
  EXPECT_EQ(show_rate(25e9), "25gbit");
  EXPECT_EQ(show_rate(0.5), "0.5bit");
  for (const double rate : {1e9 / 3, 123456789.0, 1e13, 999.0}) {
    EXPECT_DOUBLE_EQ(parse_rate(show_rate(rate)), rate) << show_rate(rate);
  }
}

}  // namespace
}  // namespace scalebench
