// SPDX-License-Identifier: Apache-2.0
#include <fmt/ranges.h>

#include "bench/cli/completion.hpp"

namespace scalebench {
namespace {

std::string in_quotes(std::string_view text) {
  std::string safe = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') safe += '\\';
    safe += c;
  }
  return safe + "'";
}

std::string filling(const OptionEntry& option) {
  switch (filler_of(option)) {
    case Filler::choices:
      return fmt::format(" -x -a '{}'", fmt::join(option.choices, " "));
    case Filler::files:
      return option.by_place ? " -F" : " -r -F";
    case Filler::folders:
      return " -x -a '(__fish_complete_directories)'";
    case Filler::nothing:
      break;
  }
  return option.value.empty() ? "" : " -x";
}

std::string lines_of(const CommandEntry& command, std::string_view program,
                     std::string_view condition) {
  std::string text;
  for (const OptionEntry& option : command.options) {
    std::string line = fmt::format("complete -c {}{}", program, condition);
    for (const std::string& name : option.names) {
      if (option.by_place) continue;
      const bool has_long = name.starts_with("--");
      line += fmt::format(" {} {}", has_long ? "-l" : "-s", name.substr(has_long ? 2 : 1));
    }
    line += filling(option);
    if (!option.by_place) line += " -d " + in_quotes(brief_of(option.description));
    text += line + "\n";
  }
  return text;
}

}  // namespace

std::string fish_completion(const CommandEntry& program) {
  std::string text = fmt::format(
      "# fish completion for {0}, made from its option table\ncomplete -c {0} -f\n", program.name);
  const bool has_verbs = !program.commands.empty();
  text += lines_of(program, program.name, has_verbs ? " -n __fish_use_subcommand" : "");
  for (const CommandEntry& verb : program.commands) {
    text += fmt::format("complete -c {} -n __fish_use_subcommand -a {} -d {}\n", program.name,
                        verb.name, in_quotes(brief_of(verb.description)));
    const std::string within = fmt::format(" -n '__fish_seen_subcommand_from {}'", verb.name);
    text += lines_of(verb, program.name, within);
  }
  return text;
}

}  // namespace scalebench
