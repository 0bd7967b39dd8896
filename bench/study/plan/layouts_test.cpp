// SPDX-License-Identifier: Apache-2.0
// Which layouts are swept, and which are refused.
#include "bench/study/plan/layouts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "kernels/error.hpp"
#include "kernels/testing.hpp"

namespace scalebench {
namespace {

using testing::AnyOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> words_of(const std::vector<Layout>& layouts) {
  std::vector<std::string> words;
  for (const Layout& layout : layouts) words.push_back(layout_words(layout));
  return words;
}

std::vector<std::string> defaults_on(const char* hosts) {
  return words_of(default_layouts(parse_hosts(hosts)));
}

TEST(DefaultLayouts, ArePowersOfTwoAndTheFullOnes) {
  EXPECT_THAT(defaults_on("a:2,b:2"), ElementsAre("1x1", "1x2", "2x1", "2x2"));
  EXPECT_THAT(defaults_on("a:3,b:3,c:3"),
              ElementsAre("1x1", "1x2", "1x3", "2x1", "2x2", "2x3", "3x1", "3x2", "3x3"));
  EXPECT_THAT(defaults_on("a:1"), ElementsAre("1x1"));
}

TEST(DefaultLayouts, TakeHostsThatHaveTheSlots) {
  EXPECT_THAT(defaults_on("a:3,b:4"), ElementsAre("1x1", "1x2", "1x4", "2x1", "2x2", "2x3"));
}

TEST(LayoutOf, TakesAsFewHostsAsHoldTheRanksEvenly) {
  const Hosts hosts = parse_hosts("a:2,b:2,c:2");
  for (const auto& [ranks, words] :
       {std::pair(1, "1x1"), {2, "1x2"}, {3, "3x1"}, {4, "2x2"}, {6, "3x2"}}) {
    EXPECT_EQ(layout_words(layout_of(ranks, hosts, false)), words);
  }
  EXPECT_THAT(message_of<UsageError>([&] { layout_of(5, hosts, false); }),
              HasSubstr("5 ranks do not fit evenly on a:2,b:2,c:2"));
  EXPECT_THAT(message_of<UsageError>([&] { layout_of(12, hosts, false); }),
              HasSubstr("--oversubscribe"));
  EXPECT_EQ(layout_words(layout_of(12, hosts, true)), "3x4");
  EXPECT_EQ(layout_words(layout_of(5, hosts, true)), "1x5");
}

TEST(Layouts, AreReadInOrderAndOnce) {
  EXPECT_THAT(words_of(parse_layouts("2x2,1x1,2x2")), ElementsAre("1x1", "2x2"));
  for (const char* words :
       {"", "x", "1", "1x", "x1", "0x1", "1x0", "-1x1", "1x1,", "1x1x1", "65536x65536", "a x b"}) {
    EXPECT_THAT(message_of<UsageError>([&] { parse_layouts(words); }),
                AnyOf(HasSubstr("is no layout; valid: hosts x ranks of each"),
                      HasSubstr("has an empty entry")))
        << words;
  }
  EXPECT_THAT(message_of<UsageError>([] { parse_layouts("\x1b[31m"); }),
              HasSubstr("'\\x1b[31m' is no layout"));
}

}  // namespace
}  // namespace scalebench
