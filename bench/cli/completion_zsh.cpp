// SPDX-License-Identifier: Apache-2.0
#include <fmt/ranges.h>

#include "bench/cli/completion.hpp"

namespace scalebench {
namespace {

/// For a specification of _arguments within single quotes.
std::string escaped(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    if (c == '\'') {
      safe += "'\\''";
    } else {
      if (c == '[' || c == ']' || c == ':' || c == '\\') safe += '\\';
      safe += c;
    }
  }
  return safe;
}

std::string action(const OptionEntry& option) {
  switch (filler_of(option)) {
    case Filler::choices:
      return fmt::format("({})", fmt::join(option.choices, " "));
    case Filler::files:
      return "_files";
    case Filler::folders:
      return "_files -/";
    case Filler::nothing:
      break;
  }
  return " ";
}

/// One word of _arguments for each name of the option.
std::vector<std::string> specifications(const OptionEntry& option) {
  const std::string brief = escaped(brief_of(option.description));
  const std::string& name = option.names.front();
  if (option.by_place) {
    const char* const count = option.repeats ? "*:" : option.required ? ":" : "::";
    return {fmt::format("'{}{}:{}'", count, escaped(name), action(option))};
  }
  std::vector<std::string> words;
  const std::string all = fmt::format("{}", fmt::join(option.names, " "));
  for (const std::string& one : option.names) {
    // -n 3 and --name=3, or --name 3.
    const char* const joint = option.value.empty() ? "" : one.starts_with("--") ? "=" : "+";
    const std::string value =
        option.value.empty() ? "" : fmt::format(":{}:{}", escaped(option.value), action(option));
    words.push_back(fmt::format("'({}){}{}[{}]{}'", all, one, joint, brief, value));
  }
  return words;
}

std::string arguments_of(const CommandEntry& command, std::string_view indent) {
  std::string text;
  for (const OptionEntry& option : command.options) {
    for (const std::string& word : specifications(option)) {
      text += fmt::format(" \\\n{}  {}", indent, word);
    }
  }
  return text;
}

}  // namespace

std::string zsh_completion(const CommandEntry& program) {
  const std::string& name = program.name;
  std::string text =
      fmt::format("#compdef {0}\n# zsh completion for {0}, made from its option table\n", name);
  text += fmt::format("_{}() {{\n  local state line\n  typeset -A opt_args\n", name);
  if (program.commands.empty()) {
    text += "  _arguments" + arguments_of(program, "  ") + "\n";
  } else {
    std::string verbs, branches;
    for (const CommandEntry& verb : program.commands) {
      verbs += fmt::format("        '{}:{}'\n", verb.name, escaped(brief_of(verb.description)));
      branches +=
          fmt::format("        {}) _arguments{} ;;\n", verb.name, arguments_of(verb, "        "));
    }
    text += fmt::format("  _arguments -C{} \\\n    '1:verb:->verb' \\\n    '*::argument:->rest'\n",
                        arguments_of(program, "  "));
    text += fmt::format(
        "  case $state in\n    verb)\n      local -a verbs=(\n{}      )\n"
        "      _describe verb verbs ;;\n    rest)\n      case $line[1] in\n{}      esac ;;\n  "
        "esac\n",
        verbs, branches);
  }
  // Both as a file in fpath and after `source`.
  return text +
         fmt::format(
             "}}\nif [[ $funcstack[1] == _{0} ]]; then _{0} \"$@\"; else compdef _{0} {0}; fi\n",
             name);
}

}  // namespace scalebench
