// SPDX-License-Identifier: Apache-2.0
#include <fmt/ranges.h>

#include <algorithm>

#include "bench/cli/completion.hpp"

namespace scalebench {
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

}  // namespace scalebench
