// SPDX-License-Identifier: Apache-2.0
#include "bench/join/daemon_command.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "kernels/error.hpp"

namespace scalebench {
namespace {

constexpr std::string_view kForShells = "|&<>()";

struct Word {
  std::string text;
  bool has_expansion = false;  // a $ that a shell would replace
};
using Command = std::vector<Word>;

[[noreturn]] void refuse(const std::string& line, std::string_view what) {
  fail("mpirun's command for a host {}: {}", what, line.substr(0, 200));
}

/// Between semicolons, each command as its words without quotes.
std::vector<Command> commands_in(const std::string& line) {
  std::vector<Command> commands(1);
  Word word;
  bool in_word = false;
  char quote = 0;
  const auto end_word = [&] {
    if (in_word) commands.back().push_back(word);
    word = {};
    in_word = false;
  };
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    const bool literal = quote == '\'';
    if (quote != 0 && c == quote) {
      quote = 0;
    } else if (quote == 0 && (c == '"' || c == '\'')) {
      quote = c;
      in_word = true;
    } else if (!literal && c == '\\' && i + 1 < line.size()) {
      word.text += line[++i];
      in_word = true;
    } else if (quote == 0 && (c == ' ' || c == '\t')) {
      end_word();
    } else if (quote == 0 && c == ';') {
      end_word();
      commands.emplace_back();
    } else if (c == '\n' || (!literal && c == '`') ||
               (quote == 0 && kForShells.find(c) != std::string_view::npos)) {
      refuse(line, "needs a shell");
    } else {
      word.has_expansion = word.has_expansion || (!literal && c == '$');
      word.text += c;
      in_word = true;
    }
  }
  if (quote != 0) refuse(line, "has a quote without its end");
  end_word();
  return commands;
}

bool is_setting(const Command& command) {
  if (command.empty()) return true;
  if (command.front().text == "export") return true;
  return command.size() == 1 && command.front().text.find('=') != std::string::npos;
}

}  // namespace

bool is_daemon_command(const std::vector<std::string>& argv) {
  if (argv.empty()) return false;
  const std::string name = std::filesystem::path(argv.front()).filename();
  return name == "orted" || name == "prted";
}

std::vector<std::string> daemon_command(const std::vector<std::string>& words) {
  const std::string line = fmt::format("{}", fmt::join(words, " "));
  const std::vector<Command> commands = commands_in(line);
  if (!std::all_of(commands.begin(), commands.end() - 1, is_setting)) {
    refuse(line, "is more than one");
  }
  std::vector<std::string> argv;
  for (const Word& word : commands.back()) {
    if (word.has_expansion) refuse(line, "needs a shell");
    argv.push_back(word.text);
  }
  if (!is_daemon_command(argv)) refuse(line, "is not orted or prted");
  return argv;
}

}  // namespace scalebench
