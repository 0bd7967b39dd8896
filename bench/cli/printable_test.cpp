// SPDX-License-Identifier: Apache-2.0
#include "bench/cli/printable.hpp"

#include <gtest/gtest.h>

namespace scalebench {
namespace {

TEST(Printable, SpellsOutWhatSteersATerminal) {
  EXPECT_EQ(printable("ring 64 KiB größe ✓ 😀"), "ring 64 KiB größe ✓ 😀");
  EXPECT_EQ(printable("\x1b[31mred\x07\n"), "\\x1b[31mred\\x07\\x0a");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "\\x9b31m")
      << "the other way to begin a sequence";
  EXPECT_EQ(printable("a\u202e\u2066\u200fb"), "a\\u202e\\u2066\\u200fb");
  EXPECT_EQ(printable("\xe2\x80"), "\xe2\x80") << "cut short: left as it is";
  EXPECT_EQ(printable(""), "");
}

}  // namespace
}  // namespace scalebench
