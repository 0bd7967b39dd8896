// SPDX-License-Identifier: Apache-2.0
#include "bench/cli/console.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>

#include "bench/cli/stderr.hpp"

namespace scalebench {
namespace {

const Surroundings kTerminal{
    .terminal = true, .term = "xterm", .ci = {}, .no_color = {}, .columns = 80};

Surroundings with(std::optional<std::string> Surroundings::*what,
                  std::optional<std::string> value) {
  Surroundings where = kTerminal;
  where.*what = std::move(value);
  return where;
}

TEST(ConsoleStyle, RewritesAndColorsOnATerminal) {
  const ConsoleStyle style = style_of(kTerminal);
  EXPECT_TRUE(style.rewrites);
  EXPECT_TRUE(style.colors);
  EXPECT_EQ(style.columns, 79);
}

TEST(ConsoleStyle, HasNoControlCodesWhereNobodyLooks) {
  Surroundings file = kTerminal;
  file.terminal = false;
  for (const Surroundings& where : {file, with(&Surroundings::term, "dumb"),
                                    with(&Surroundings::term, {}), with(&Surroundings::ci, "1")}) {
    const ConsoleStyle style = style_of(where);
    EXPECT_FALSE(style.rewrites);
    EXPECT_FALSE(style.colors);
  }
}

TEST(ConsoleStyle, NoColorCountsUnlessEmpty) {
  const Surroundings refused = with(&Surroundings::no_color, "1");
  EXPECT_FALSE(style_of(refused).colors);
  EXPECT_TRUE(style_of(refused).rewrites) << "only colours are refused";
  EXPECT_TRUE(style_of(with(&Surroundings::no_color, "")).colors);
}

TEST(ConsoleStyle, WidthZeroIsNotKnown) {
  Surroundings where = kTerminal;
  where.columns = 0;
  EXPECT_EQ(style_of(where).columns, 0);
  EXPECT_EQ(cut("any length", 0), "any length");
}

TEST(Cut, CountsCharactersNotBytes) {
  EXPECT_EQ(cut("a\xC2\xB7"
                "b",
                2),
            "a\xC2\xB7");
  EXPECT_EQ(cut("a\xC2\xB7"
                "b",
                3),
            "a\xC2\xB7"
            "b");
}

TEST(Console, TimesLeftHaveTheUnitsThatAPersonReads) {
  EXPECT_EQ(show_duration(45), "45 s");
  EXPECT_EQ(show_duration(120), "2 min");
  EXPECT_EQ(show_duration(3900), "65 min");
  EXPECT_EQ(show_duration(5400), "1 h 30 min");
}

TEST(Console, AStderrThatIsFullRaisesNothing) {
  const int before = dup(STDERR_FILENO);
  const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
  ASSERT_GE(full, 0);
  dup2(full, STDERR_FILENO);
  close(full);
  Console console(/*speaks=*/true, /*quiet=*/false);
  EXPECT_NO_THROW(console.note("lost"));
  EXPECT_NO_THROW(console.warn("lost"));
  EXPECT_NO_THROW(console.warn("lost", "remedy"));
  EXPECT_NO_THROW(console.progress(1, 2, "lost", 3));
  EXPECT_NO_THROW(console.last_word("lost"));
  EXPECT_NO_THROW(print_line("lost"));
  std::clearerr(stderr);
  dup2(before, STDERR_FILENO);
  close(before);
}

}  // namespace

namespace {

TEST(Printable, SpellsOutWhatSteersATerminal) {
  EXPECT_EQ(printable("ring 64 KiB größe ✓ 😀"), "ring 64 KiB größe ✓ 😀");
  EXPECT_EQ(printable("\x1b[31mred\x07\n"), "\\x1b[31mred\\x07\\x0a");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "\\x9b31m")
      << "the other way to begin a sequence";
  EXPECT_EQ(printable("a\u202e\u2066\u200fb"), "a\\u202e\\u2066\\u200fb");
  EXPECT_EQ(printable("a\xe2\x80"), "a\ufffd") << "cut short";
  EXPECT_EQ(printable(""), "");
}

}  // namespace

}  // namespace scalebench
