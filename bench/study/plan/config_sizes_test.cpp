// SPDX-License-Identifier: Apache-2.0
// What is no size, or no name of a study, is named with its place, and all of it at once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/study/plan/config.hpp"
#include "kernels/error.hpp"
#include "kernels/testing.hpp"

namespace scalebench {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string said_of(const std::string& text) {
  return message_of<UsageError>([&] { parse_study_config(text, "bad.toml"); });
}

TEST(ConfigSizes, AreRefusedWhereTheyStandAllAtOnce) {
  const std::string said = said_of("[allreduce]\nmin = \"64MB\"\nmax = \"x\"\nfaktor = 2\n");
  EXPECT_THAT(said, StartsWith("bad.toml:2:7: min: '64MB'"));
  EXPECT_THAT(said, HasSubstr("\nbad.toml:3:7: max: 'x'"));
  EXPECT_THAT(said, HasSubstr("\nbad.toml:4:1: unknown key 'faktor'"));
  EXPECT_EQ(said_of("[allreduce]\nmin = \"8MiB\"\nmax = \"4MiB\"\n"),
            "bad.toml:2:7: min 8MiB is larger than max 4MiB");
  EXPECT_THAT(said_of("[allreduce]\nmax = \"1\"\n"), StartsWith("bad.toml:2:7: min "))
      << "than the default";
}

TEST(ConfigName, IsPartOfAFoldersName) {
  const std::string rest = "\n[allreduce]\nmax = \"1KiB\"\n";
  for (const char* const name : {"My Study", "UP", ".hidden", "a/b", "caf\u00e9", ""}) {
    EXPECT_THAT(said_of("[study]\nname = \"" + std::string(name) + "\"" + rest),
                StartsWith("bad.toml:2:8: name: expected part of a folder's name: "))
        << name;
  }
  EXPECT_EQ(parse_study_config("[study]\nname = \"a-1.b_c\"" + rest, "x").name, "a-1.b_c");
  EXPECT_EQ(parse_study_config(rest, "where/My Study.toml").name, "my-study")
      << "a file may be called anything";
}

}  // namespace
}  // namespace scalebench
