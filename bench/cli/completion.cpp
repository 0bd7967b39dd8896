// SPDX-License-Identifier: Apache-2.0
#include "bench/cli/completion.hpp"

#include <fmt/ranges.h>

#include <algorithm>

#include "bench/cli/command_line.hpp"

namespace scalebench {

std::string completion(const CommandEntry& program, std::string_view shell) {
  require_known("shell", shell, kShells);
  if (shell == "bash") return bash_completion(program);
  return shell == "zsh" ? zsh_completion(program) : fish_completion(program);
}

Filler filler_of(const OptionEntry& option) {
  if (!option.choices.empty()) return Filler::choices;
  const std::string_view value = option.value;
  if (value.starts_with("DIR") || value.starts_with("RUN")) return Filler::folders;
  const bool plain = option.by_place && value.starts_with("TEXT");
  return plain || value.starts_with("FILE") ? Filler::files : Filler::nothing;
}

std::string brief_of(std::string_view description) {
  constexpr std::size_t kLongest = 72;
  std::string text(description.substr(0, description.find_first_of(";\n")));
  if (text.size() <= kLongest) return text;
  const std::size_t blank = text.rfind(' ', kLongest - 3);
  text.resize(blank == std::string::npos ? kLongest - 3 : blank);
  return text + "...";
}

namespace {

// What is the same for every program: which verb, which option or place the word under the cursor
// belongs to, and what fills it. The four lookups before it are the program's table.
constexpr std::string_view kWalk = R"(
  local word=${COMP_WORDS[COMP_CWORD]} verb='' option='' place=0 skip=0 i
  for ((i = 1; i < COMP_CWORD; i++)); do
    local before=${COMP_WORDS[i]}
    if [[ $before == '=' ]]; then continue; fi  # bash splits --name=value in three
    if ((skip)); then
      skip=0
    elif [[ $before == -* ]]; then
      @_takes_value "$verb" "$before" && skip=1
    elif [[ -z $verb && " $verbs " == *" $before "* ]]; then
      verb=$before
    else
      place=$((place + 1))
    fi
  done
  if ((skip)); then
    option=${COMP_WORDS[COMP_CWORD - 1]}
    [[ $option == '=' ]] && option=${COMP_WORDS[COMP_CWORD - 2]}
    [[ $word == '=' ]] && word=''
  fi
  local values='' head=''
  COMPREPLY=()
  if [[ -z $option && $word == -* ]]; then
    values=$(@_options "$verb")
  elif [[ -z $option && -z $verb && -n $verbs ]]; then
    values=$verbs
  else
    [[ -z $option ]] && option=$place
    values=$(@_values "$verb" "$option")
  fi
  case $values in
    FILES) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
    FOLDERS) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -d -- "$word") ;;
    *)
      [[ $word == *,* ]] && head=${word%,*}, # the last entry of a list
      mapfile -t COMPREPLY < <(compgen -P "$head" -W "$values" -- "${word##*,}")
      ;;
  esac
}
)";

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  for (std::size_t at = text.find(what); at != std::string::npos;
       at = text.find(what, at + by.size())) {
    text.replace(at, what.size(), by);
  }
  return text;
}

std::string filling(const OptionEntry& option) {
  switch (filler_of(option)) {
    case Filler::choices:
      return fmt::format("{}", fmt::join(option.choices, " "));
    case Filler::files:
      return "FILES";
    case Filler::folders:
      return "FOLDERS";
    case Filler::nothing:
      break;
  }
  return "";
}

struct Tables {
  std::string options, takes_value, values;
};

void add(const CommandEntry& command, std::string_view verb, Tables& tables) {
  std::vector<std::string> names, with_value;
  int place = 0;
  for (const OptionEntry& option : command.options) {
    const std::string fill = filling(option);
    std::vector<std::string> patterns;
    if (option.by_place) {
      patterns.push_back(option.repeats ? fmt::format("'{}:'[0-9]*", verb)
                                        : fmt::format("'{}:{}'", verb, place++));
    } else {
      for (const std::string& name : option.names) {
        names.push_back(name);
        patterns.push_back(fmt::format("'{}:{}'", verb, name));
        if (!option.value.empty()) with_value.push_back(patterns.back());
      }
    }
    if (!fill.empty()) {
      tables.values += fmt::format("    {}) echo '{}' ;;\n", fmt::join(patterns, " | "), fill);
    }
  }
  tables.options += fmt::format("    '{}') echo '{}' ;;\n", verb, fmt::join(names, " "));
  if (!with_value.empty()) {
    tables.takes_value += fmt::format("    {}) return 0 ;;\n", fmt::join(with_value, " | "));
  }
}

}  // namespace

std::string bash_completion(const CommandEntry& program) {
  Tables tables;
  std::vector<std::string> verbs;
  add(program, "", tables);
  for (const CommandEntry& verb : program.commands) {
    verbs.push_back(verb.name);
    add(verb, verb.name, tables);
  }
  const std::string function = "_" + program.name;
  std::string text =
      fmt::format("# bash completion for {}, made from its option table\n", program.name);
  text +=
      fmt::format("{}_options() {{ # VERB\n  case $1 in\n{}  esac\n}}\n", function, tables.options);
  text +=
      fmt::format("{}_takes_value() {{ # VERB OPTION\n  case $1:$2 in\n{}  esac\n  return 1\n}}\n",
                  function, tables.takes_value);
  text += fmt::format("{}_values() {{ # VERB OPTION-OR-PLACE\n  case $1:$2 in\n{}  esac\n}}\n",
                      function, tables.values);
  text += fmt::format("{}() {{\n  local verbs='{}'", function, fmt::join(verbs, " "));
  text += replaced(std::string(kWalk), "@", function);
  return text + fmt::format("complete -F {} {}\n", function, program.name);
}

namespace {

std::string in_quotes(std::string_view text) {
  std::string safe = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') safe += '\\';
    safe += c;
  }
  return safe + "'";
}

std::string fish_filling(const OptionEntry& option) {
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
    line += fish_filling(option);
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
