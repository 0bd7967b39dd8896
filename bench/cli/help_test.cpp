// SPDX-License-Identifier: Apache-2.0
#include "bench/cli/help.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <sstream>

#include "bench/cli/command_line.hpp"

namespace scalebench {
namespace {

using testing::HasSubstr;
using testing::Not;

struct Program {
  CLI::App app{"A program with a few words more than a narrow terminal has room for", "prog"};
  std::string model = "mlp", input, folder;
  int servers = 1, step = 0;
  bool figures = true;

  Program() {
    app.add_option("run", folder, "what was measured")->required();
    offer(app.add_option("--model", model, "which")->capture_default_str(), {"mlp", "cnn"});
    app.add_flag("!--no-figures", figures, "no figures");
    CLI::Option* const chosen = app.add_option("--input", input, "other data");
    const Heading strategy(app, kStrategy);
    app.add_option("--servers", servers, "ranks that hold the variables")->needs(chosen);
    app.add_option("--secret", step, "not to be seen")->group("");
  }

  std::string page(bool all, std::size_t columns = 100) {
    add_help(app);
    add_examples(app, {"", "results/RUN --model cnn"});
    return help_page(app, all, columns);
  }
};

TEST(Help, ShowsTheUsualOptionsAndSaysWhatElseThereIs) {
  const std::string page = Program().page(/*all=*/false);
  EXPECT_THAT(page, HasSubstr("\nusage: prog [OPTION]... RUN\n"));
  EXPECT_THAT(page, HasSubstr("\nArguments:\n  RUN  what was measured\n"));
  EXPECT_THAT(page, HasSubstr("  --model mlp|cnn  which (default: mlp)\n"));
  EXPECT_THAT(page, HasSubstr("\n--help-all has 1 more: strategy (1)\n"));
  EXPECT_THAT(page, HasSubstr("\nExamples:\n    prog\n    prog results/RUN --model cnn\n"));
  EXPECT_THAT(page, HasSubstr("\nExit code: 0 ok"));
  EXPECT_THAT(page, Not(HasSubstr("--servers")));
  EXPECT_THAT(page, Not(HasSubstr("{false}")));
}

TEST(Help, AllShowsEachOptionUnderItsHeading) {
  const std::string page = Program().page(/*all=*/true);
  EXPECT_THAT(page, HasSubstr("\nStrategy:\n  --servers N  ranks that hold the variables; with "
                              "--input only\n"));
  EXPECT_THAT(page, Not(HasSubstr("--help-all has")));
  EXPECT_THAT(page, Not(HasSubstr("secret")));
}

TEST(Help, IsAsWideAsTheTerminal) {
  std::istringstream lines(Program().page(/*all=*/true, 60));
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("Exit code")) {
      EXPECT_LE(line.size(), 60) << line;
    }
  }
}

TEST(Help, IsWhatTheCommandLineAsksFor) {
  const auto asked = [](const char* word) {
    Program program;
    std::string text;
    const std::array words{"prog", word};
    EXPECT_FALSE(parse_command_line(program.app, words.size(), words.data(), text));
    return text;
  };
  EXPECT_THAT(asked("-h"), Not(HasSubstr("--servers")));
  EXPECT_THAT(asked("--help-all"), HasSubstr("--servers"));
}

}  // namespace
}  // namespace scalebench
