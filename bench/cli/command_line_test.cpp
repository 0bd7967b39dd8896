// SPDX-License-Identifier: Apache-2.0
#include "bench/cli/command_line.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <array>

#include "kernels/error.hpp"

namespace scalebench {
namespace {

std::string refusal(std::vector<const char*> arguments) {
  CLI::App app("a test", "bench_test");
  int number = 0;
  std::string algorithm;
  app.add_option("-n,--repetitions", number, "how often");
  app.add_option("--algorithm", algorithm, "which");
  arguments.insert(arguments.begin(), "bench_test");
  std::string text;
  try {
    parse_command_line(app, static_cast<int>(arguments.size()), arguments.data(), text);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(CommandLine, NamesTheNearestOption) {
  EXPECT_EQ(refusal({"--algoritm=ring"}),
            "unknown option '--algoritm'; did you mean '--algorithm'? See bench_test --help");
  EXPECT_EQ(refusal({"--nothing-near"}), "unknown option '--nothing-near'; see bench_test --help");
  EXPECT_EQ(refusal({"stray"}), "unknown argument 'stray'; see bench_test --help");
}

TEST(CommandLine, NamesTheNearestVerbAndWhatIsMissing) {
  const auto refusal = [](const char* word) -> std::string {
    CLI::App app("A program", "prog");
    app.require_subcommand(1);
    std::string config, text;
    app.add_subcommand("run", "runs")->add_option("config", config, "TOML file")->required();
    const std::array words{"prog", word};
    try {
      parse_command_line(app, words.size(), words.data(), text);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_EQ(refusal("rnu"), "unknown verb 'rnu'; did you mean 'run'? See prog --help");
  EXPECT_EQ(refusal("--hlep"), "unknown option '--hlep'; did you mean '--help'? See prog --help");
  EXPECT_EQ(refusal("run"), "CONFIG is missing (TOML file); usage: prog run CONFIG");
}

TEST(CommandLine, RefusesAWrongValueInOneLine) {
  EXPECT_EQ(refusal({"-n", "many"}), "--repetitions = many: not a number; see bench_test --help");
  EXPECT_EQ(refusal({"-n"}), "--repetitions: a value is missing; see bench_test --help");
  constexpr std::string_view kEmpty = ": the value is empty; leave the option out for its default";
  EXPECT_EQ(refusal({"--algorithm", ""}), fmt::format("--algorithm{}", kEmpty));
  EXPECT_EQ(refusal({"-n", ""}), fmt::format("--repetitions{}", kEmpty));
  EXPECT_NE(refusal({"--algorithm="}), "accepted");
}

TEST(CommandLine, AcceptsWhatIsValidAndOffersHelp) {
  EXPECT_EQ(refusal({"-n", "3", "--algorithm", "ring"}), "accepted");
  CLI::App app("a test", "bench_test");
  std::string text;
  const std::array arguments{"bench_test", "--help"};
  EXPECT_FALSE(parse_command_line(app, 2, arguments.data(), text));
  EXPECT_NE(text.find("a test"), std::string::npos);
}

TEST(SplitList, SplitsAtCommasAndRefusesGaps) {
  EXPECT_EQ(split_list("--algorithm", "ring,native"), (std::vector<std::string>{"ring", "native"}));
  EXPECT_EQ(split_set("--algorithm", "ring,native,ring"),
            (std::vector<std::string>{"ring", "native"}));
  EXPECT_THROW(split_list("--algorithm", "ring,,native"), UsageError);
  EXPECT_THROW(split_list("--algorithm", ""), UsageError);
}

TEST(RequireKnown, ListsWhatIsValid) {
  const std::array<std::string_view, 2> valid{"cold", "warm"};
  require_known("cache", "warm", valid);
  EXPECT_THROW(require_known("cache", "wram", valid), UsageError);
}

}  // namespace
}  // namespace scalebench
