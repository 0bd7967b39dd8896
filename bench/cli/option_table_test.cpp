// SPDX-License-Identifier: Apache-2.0
#include "bench/cli/option_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <array>

#include "bench/cli/command_line.hpp"
#include "kernels/error.hpp"

namespace scalebench::option_table_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

/// A program with a verb that has one of everything.
struct Program {
  CLI::App app{"A program", "prog"};
  std::string config, transport = "auto", out, secret;
  bool quiet = false;

  Program() {
    CLI::App& run = *app.add_subcommand("run", "runs 'it': fast");
    run.add_option("config", config, "TOML file")->required()->type_name("FILE");
    offer(run.add_option("-t,--transport", transport, "over [what]; see -x")->capture_default_str(),
          {"mpi", "nccl"});
    run.add_option("--out", out, ".dotted \\ \xC2\xB7 folder")->type_name("DIR");
    run.add_option("--secret", secret, "not to be seen")->group("");
    run.add_flag("-q,--quiet", quiet, "less");
    app.require_subcommand(1);
  }
  std::string asked(std::vector<const char*> words) {
    words.insert(words.begin(), "prog");
    std::string text;
    EXPECT_FALSE(parse_command_line(app, static_cast<int>(words.size()), words.data(), text));
    return text;
  }
};

TEST(OptionTable, HasWhatTheParserHas) {
  Program program;
  const CommandEntry table = command_table(program.app);
  ASSERT_EQ(table.commands.size(), 1);
  const std::vector<OptionEntry>& options = table.commands.front().options;
  ASSERT_EQ(options.size(), 5) << "help, config, transport, out, quiet; nothing hidden";
  EXPECT_EQ(table.commands.front().path, "prog run");
  EXPECT_TRUE(options[1].by_place);
  EXPECT_TRUE(options[1].required);
  EXPECT_EQ(options[1].value, "FILE");
  EXPECT_THAT(options[2].names, ElementsAre("-t", "--transport"));
  EXPECT_THAT(options[2].choices, ElementsAre("mpi", "nccl"));
  EXPECT_EQ(options[2].default_value, "auto");
  EXPECT_EQ(options[4].value, "") << "a flag";
}

TEST(OptionTable, OfferingAValueChangesNoHelpAndRefusesNone) {
  Program program;
  EXPECT_THAT(program.app.get_subcommand("run")->help(), Not(HasSubstr("offers")));
  std::string text;
  const std::array words{"prog", "run", "a.toml", "--transport", "other"};
  EXPECT_TRUE(parse_command_line(program.app, words.size(), words.data(), text));
}

TEST(OptionTable, EveryProgramTellsItsCompletionAndItsManualPage) {
  Program program;
  EXPECT_THAT(program.asked({"--completion", "bash"}), HasSubstr("complete -F _prog prog"));
  EXPECT_THAT(program.asked({"--completion", "zsh"}), HasSubstr("#compdef prog"));
  EXPECT_THAT(program.asked({"--completion", "fish"}), HasSubstr("complete -c prog"));
  EXPECT_THAT(program.asked({"--man-page"}), HasSubstr(".TH PROG 1"));
  EXPECT_THROW(program.asked({"--completion", "bsh"}), UsageError);
}

TEST(Completion, QuotesForItsShell) {
  Program program;
  const CommandEntry table = command_table(program.app);
  EXPECT_THAT(completion(table, "zsh"), HasSubstr(R"('run:runs '\''it'\''\: fast')"));
  EXPECT_THAT(completion(table, "zsh"),
              HasSubstr(R"(--transport=[over \[what\]]:TEXT:(mpi nccl)')"));
  EXPECT_THAT(completion(table, "fish"), HasSubstr(R"(-a run -d 'runs \'it\': fast')"));
  EXPECT_THAT(completion(table, "fish"), HasSubstr("-s t -l transport -x -a 'mpi nccl'"));
}

TEST(ManPage, ShowsTextAsItIs) {
  Program program;
  const std::string page = man_page(command_table(program.app));
  EXPECT_THAT(page, HasSubstr("\\fB\\-t\\fR, \\fB\\-\\-transport\\fR \\fITEXT\\fR\n"));
  EXPECT_THAT(page, HasSubstr("\n\\&.dotted \\e \\[u00B7] folder\n"));
  EXPECT_THAT(page, HasSubstr("Values: mpi, nccl\n"));
  EXPECT_THAT(page, Not(HasSubstr("secret")));
}

TEST(CommandLine, NamesTheNearestVerb) {
  const auto refusal = [](const char* word) -> std::string {
    Program program;
    std::string text;
    const std::array words{"prog", word};
    try {
      parse_command_line(program.app, words.size(), words.data(), text);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_EQ(refusal("rnu"), "unknown verb 'rnu'; did you mean 'run'? See prog --help");
  EXPECT_THAT(refusal("--hlep"), HasSubstr("did you mean '--help'?"));
  EXPECT_EQ(refusal("run"), "CONFIG is missing (TOML file); usage: prog run CONFIG");
}

}  // namespace
}  // namespace scalebench::option_table_test
