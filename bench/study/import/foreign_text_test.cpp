// SPDX-License-Identifier: Apache-2.0
// What other programs' text may be: line ends, marks, holes, numbers that are none; expressions.
#include "bench/study/import/foreign_text.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <clocale>
#include <locale>

#include "bench/study/import/kinds.hpp"
#include "kernels/error.hpp"
#include "kernels/testing.hpp"

namespace scalebench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> texts(std::string_view text, std::vector<Remark>& findings) {
  std::vector<std::string> found;
  for (const ForeignLine& line : lines_of(text, "a.log", findings)) {
    found.emplace_back(line.text);
  }
  return found;
}

TEST(ForeignText, TakesAwayWhatEditorsTerminalsAndLaunchersPutAround) {
  std::vector<Remark> none;
  EXPECT_THAT(texts("\xef\xbb\xbf"
                    "a\r\nb\n\nc",
                    none),
              ElementsAre("a", "b", "", "c"));
  EXPECT_THAT(texts(" 10%\r 50%\r100%\n", none), ElementsAre("100%"));
  const std::string tagged = "[1,0]<stdout>:8 2\n[prterun-n1-7@1,3]<stderr>: x\n\n[12]<stdout>:y\n";
  std::vector<std::string> bare;
  for (const ForeignLine& line : lines_of(tagged, "a.log", none)) bare.emplace_back(line.bare);
  EXPECT_THAT(bare, ElementsAre("8 2", "x", "", "y"));
  EXPECT_TRUE(none.empty());
}

TEST(ForeignText, LeavesOutALineWithNulOrTooManyCharactersAndSaysWhich) {
  std::vector<Remark> findings;
  EXPECT_THAT(texts(std::string_view("a\nb\0c\nd\n", 8), findings), ElementsAre("a", "d"));
  EXPECT_THAT(texts(fmt::format("short\n{:x>8193}\n", ""), findings), ElementsAre("short"));
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_EQ(findings[0].line, 2U);
  EXPECT_THAT(findings[0].what, HasSubstr("NUL"));
  EXPECT_THAT(findings[1].what, HasSubstr("8193 characters; at most 8192"));
}

TEST(ForeignText, IsReadInUtf16AndRefusedWhereThatIsDamaged) {
  const TemporaryFolder folder;
  const auto read = [&](std::string_view text) {
    return read_foreign(folder.write("a.log", text));
  };
  EXPECT_EQ(read({"\xff\xfe\x61\0\x62\0", 6}), "ab");
  EXPECT_EQ(read({"\xfe\xff\0\x61", 4}), "a");
  EXPECT_THAT(message_of<UsageError>([&] {
                read({"\xff\xfe\0\xd8\x61\0", 6});
              }),
              HasSubstr("a.log:1: this begins as UTF-16 and is none"));
}

TEST(ForeignText, RefusesWhatIsNoText) {
  std::vector<Remark> findings;
  const auto refusal = [&](const std::string& text) {
    return message_of<UsageError>([&] { texts(text, findings); });
  };
  EXPECT_THAT(refusal("\x1f\x8b\x08 whatever"), HasSubstr("a.log:1: this is compressed"));
  std::string program =
      "\x7f"
      "ELF";
  for (int i = 0; i < 400; ++i) program += static_cast<char>(i * 37 % 256);
  EXPECT_THAT(refusal(program), HasSubstr("a.log:1: this is no text"));
  // Colours, progress bars and other alphabets are.
  EXPECT_EQ(texts("\x1b[31mloss\x1b[0m\b\b\b\n", findings).size(), 1U);
  EXPECT_EQ(texts("469/469 \xe2\x94\x81\xe2\x94\x81\n", findings).size(), 1U);
  EXPECT_TRUE(findings.empty());
}

TEST(ForeignText, KnowsNumbersFromWhatOnlyLooksLikeOne) {
  EXPECT_EQ(decimal_of("1.5"), 1.5);
  EXPECT_EQ(decimal_of("+2"), 2);
  EXPECT_EQ(decimal_of("-3e-2"), -0.03);
  for (const char* none :
       {"", "1,5", "N/A", "nan", "-nan", "inf", "-inf", "1e999", "1.5s", "0x10", "++1", " 1"}) {
    EXPECT_FALSE(decimal_of(none)) << none;
  }
  EXPECT_THAT(no_number("lat", "1,5"), HasSubstr("write the decimal point as ."));
  EXPECT_EQ(no_number("lat", "N/A"), "lat: 'N/A' is not a number");
}

TEST(ForeignText, KnowsHowPreciselyANumberIsPrinted) {
  EXPECT_DOUBLE_EQ(printed_number("135.8")->half_unit, 0.05);
  EXPECT_DOUBLE_EQ(printed_number("47535")->half_unit, 0.5);
  EXPECT_DOUBLE_EQ(printed_number("1.2e+07")->half_unit, 0.05e7);
}

struct DecimalComma : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
};

TEST(ForeignText, IgnoresTheLocale) {
  const std::locale before = std::locale::global(std::locale(std::locale(), new DecimalComma));
  std::setlocale(LC_ALL, "de_DE.UTF-8");  // where it is installed
  EXPECT_EQ(decimal_of("1.5"), 1.5);
  EXPECT_FALSE(decimal_of("1,5"));
  std::setlocale(LC_ALL, "C");
  std::locale::global(before);
}

TEST(LinePattern, FindsItsFirstGroup) {
  const LinePattern pattern("here", R"(Acc@1 ([0-9.]+))");
  EXPECT_EQ(pattern.first_group(" * Acc@1 46.340 Acc@5 72.484"), "46.340");
  EXPECT_EQ(pattern.first_group("Acc@5 1"), std::nullopt);
  EXPECT_EQ(LinePattern("", "a|(b)").first_group("a"), "");
}

TEST(LinePattern, IsRefusedInOneLine) {
  const auto refusal = [](const std::string& expression) {
    return message_of<UsageError>([&] { LinePattern("--metric x", expression); });
  };
  EXPECT_THAT(refusal("(["), HasSubstr("--metric x: '([' is no regular expression"));
  EXPECT_THAT(refusal("abc"), HasSubstr("has no group (...)"));
  // ECMAScript has these; to match them takes backtracking.
  for (const char* expression : {R"((a)\1)", "(?=a)(b)", "(?!a)(b)"}) {
    EXPECT_THAT(refusal(expression), HasSubstr("is no regular expression: invalid")) << expression;
    EXPECT_THAT(refusal(expression), testing::Not(HasSubstr("\n"))) << expression;
  }
}

TEST(LinePattern, ReadsBytesThatAreNoUtf8) {
  EXPECT_EQ(LinePattern("", "a.b (x+)")
                .first_group("a\xff"
                             "b xx"),
            "xx");
  EXPECT_EQ(LinePattern("", "\xc3\xa4=(.*)").first_group("\xc3\xa4=\xfc!"), "\xfc!");
}

TEST(LinePattern, NeedsNoLongerForAnExpressionThatMakesOthersBacktrack) {
  // Backtracking would take 2^40 steps and, on a long line, the stack.
  const LinePattern pattern("", "(a+)+b");
  EXPECT_EQ(pattern.first_group(fmt::format("{:a>40}c b", "")), std::nullopt);
  EXPECT_EQ(LinePattern("", "x(.*)y").first_group(fmt::format("x{:.>8000}y", "")),
            std::string(8000, '.'));
}

}  // namespace
}  // namespace scalebench
