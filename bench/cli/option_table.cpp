// SPDX-License-Identifier: Apache-2.0
#include "bench/cli/option_table.hpp"

#include <fmt/ranges.h>
#include <utf8cpp/utf8.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cstdint>

#include "bench/cli/command_line.hpp"
#include "bench/cli/help.hpp"

namespace scalebench {
namespace {

/// As users call what the parser has C++'s names for.
std::string kind_of(const std::string& type) {
  if (type == "INT" || type == "UINT") return "N";
  return type == "FLOAT" ? "NUMBER" : type;
}

/// What an option is under that is under nothing.
bool is_default(std::string group) {
  std::ranges::transform(group, group.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return group == "options" || group == "positionals";
}

OptionEntry entry_of(CLI::Option& option) {
  OptionEntry entry;
  entry.by_place = option.get_positional();
  if (entry.by_place) {
    entry.names.push_back(option.get_name(/*positional=*/true));
    entry.repeats = option.get_items_expected_max() > 1;
  }
  for (const std::string& name : option.get_snames()) entry.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) entry.names.push_back("--" + name);
  if (option.get_items_expected_max() > 0) entry.value = kind_of(option.get_type_name());
  entry.description = option.get_description();
  entry.default_value = option.get_default_str();
  entry.choices = offered(option);
  entry.group = is_default(option.get_group()) ? std::string(kUsual) : option.get_group();
  for (const CLI::Option* needed : option.get_needs()) entry.needs.push_back(needed->get_name());
  entry.required = option.get_required();
  return entry;
}

/// The usual headings first, others in the order of their first option.
void sort_by_heading(std::vector<OptionEntry>& options) {
  std::vector<std::string> headings{std::string(kUsual), kModelAndData, kMethod,    kParallelism,
                                    kStrategy,           kCheckpoints,  kRecording, kFaults};
  for (const OptionEntry& option : options) {
    if (std::ranges::count(headings, option.group) == 0) headings.push_back(option.group);
  }
  std::ranges::stable_sort(options, {}, [&](const OptionEntry& option) {
    return std::ranges::find(headings, option.group) - headings.begin();
  });
}

}  // namespace

CommandEntry command_table(CLI::App& app) {
  CommandEntry command;
  command.name = command.path = app.get_name();
  command.description = app.get_description();
  command.footer = app.get_footer();
  command.needs_command = app.get_require_subcommand_min() > 0;
  for (CLI::App* above = app.get_parent(); above != nullptr; above = above->get_parent()) {
    command.path = above->get_name() + " " + command.path;
  }
  for (CLI::Option* option : app.get_options([](CLI::Option*) { return true; })) {
    if (!option->get_group().empty()) command.options.push_back(entry_of(*option));
  }
  sort_by_heading(command.options);
  for (CLI::App* sub : app.get_subcommands([](CLI::App*) { return true; })) {
    if (!sub->get_group().empty()) command.commands.push_back(command_table(*sub));
  }
  return command;
}

// Completion scripts.

namespace {

/// What fills a value's place: `choices` where the option offers some, `files`, `folders`, or
/// `nothing`. Arguments by place without any hint may be files.
std::string filling(const OptionEntry& option, const std::string& choices, const char* files,
                    const char* folders, const char* nothing) {
  if (!option.choices.empty()) return choices;
  const std::string_view value = option.value;
  if (value.starts_with("DIR") || value.starts_with("RUN")) return folders;
  const bool plain = option.by_place && value.starts_with("TEXT");
  return plain || value.starts_with("FILE") ? files : nothing;
}

std::string choices_of(const OptionEntry& option) {
  return fmt::format("{}", fmt::join(option.choices, " "));
}

/// The first sentence of a description, for a menu: up to 72 characters of it.
std::string brief_of(std::string_view description) {
  constexpr std::size_t kLongest = 72;
  std::string text(description.substr(0, description.find_first_of(";\n")));
  if (text.size() <= kLongest) return text;
  const std::size_t blank = text.rfind(' ', kLongest - 3);
  text.resize(blank == std::string::npos ? kLongest - 3 : blank);
  return text + "...";
}

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

struct Tables {
  std::string options, takes_value, values;
};

void add(const CommandEntry& command, std::string_view verb, Tables& tables) {
  std::vector<std::string> names, with_value;
  int place = 0;
  for (const OptionEntry& option : command.options) {
    const std::string fill = filling(option, choices_of(option), "FILES", "FOLDERS", "");
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

std::string in_quotes(std::string_view text) {
  std::string safe = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') safe += '\\';
    safe += c;
  }
  return safe + "'";
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
    line += filling(option, fmt::format(" -x -a '{}'", choices_of(option)),
                    option.by_place ? " -F" : " -r -F", " -x -a '(__fish_complete_directories)'",
                    option.value.empty() ? "" : " -x");
    if (!option.by_place) line += " -d " + in_quotes(brief_of(option.description));
    text += line + "\n";
  }
  return text;
}

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

/// One word of _arguments for each name of the option.
std::vector<std::string> specifications(const OptionEntry& option) {
  const std::string brief = escaped(brief_of(option.description));
  const std::string& name = option.names.front();
  const std::string action =
      filling(option, fmt::format("({})", choices_of(option)), "_files", "_files -/", " ");
  if (option.by_place) {
    const char* const count = option.repeats ? "*:" : option.required ? ":" : "::";
    return {fmt::format("'{}{}:{}'", count, escaped(name), action)};
  }
  std::vector<std::string> words;
  const std::string all = fmt::format("{}", fmt::join(option.names, " "));
  for (const std::string& one : option.names) {
    // -n 3 and --name=3, or --name 3.
    const char* const joint = option.value.empty() ? "" : one.starts_with("--") ? "=" : "+";
    const std::string value =
        option.value.empty() ? "" : fmt::format(":{}:{}", escaped(option.value), action);
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

}  // namespace

std::string completion(const CommandEntry& program, std::string_view shell) {
  require_known("shell", shell, kShells);
  if (shell == "bash") return bash_completion(program);
  return shell == "zsh" ? zsh_completion(program) : fish_completion(program);
}

// The manual page.

namespace {

/// Text that roff shows as it is: hyphens that can be copied, no request at the begin of a line.
std::string roff(std::string_view text) {
  std::string safe;
  for (auto at = text.begin(); at != text.end();) {
    const std::uint32_t c = utf8::next(at, text.end());
    const bool begins = safe.empty() || safe.back() == '\n';
    if (begins && (c == '.' || c == '\'')) safe += "\\&";
    if (c == '\\') {
      safe += "\\e";
    } else if (c == '-') {
      safe += "\\-";
    } else if (c < 0x80U) {
      safe += static_cast<char>(c);
    } else {
      safe += fmt::format("\\[u{:04X}]", c);
    }
  }
  return safe;
}

/// Text in lines as editors have them; roff fills them anew.
std::string filled(std::string_view text) {
  constexpr std::size_t kLongest = 60;
  std::string lines;
  std::size_t column = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    const bool fits = column + word.size() < kLongest;
    if (!lines.empty()) lines += fits ? ' ' : '\n';
    lines += word;
    column = fits ? column + 1 + word.size() : word.size();
    begin = end + 1;
  }
  return roff(lines);
}

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

/// "-q, --quiet" in bold, what it takes in italics.
std::string head_of(const OptionEntry& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.names) {
    names.push_back(fmt::format("{}{}\\fR", option.by_place ? "\\fI" : "\\fB", roff(name)));
  }
  const bool shows = !option.by_place && !option.value.empty();
  return fmt::format("{}{}", fmt::join(names, ", "),
                     shows ? fmt::format(" \\fI{}\\fR", roff(option.value)) : "");
}

std::string paragraph(const OptionEntry& option) {
  std::string text = fmt::format(".TP\n{}\n{}", head_of(option), filled(option.description));
  std::vector<std::string> more;
  if (!option.choices.empty())
    more.push_back(fmt::format("Values: {}", fmt::join(option.choices, ", ")));
  if (!option.default_value.empty()) more.push_back("Default: " + option.default_value);
  for (const std::string& one : more) text += "\n.br\n" + filled(one);
  return text + "\n";
}

/// All options, those of a group of their own under a line with its name.
std::string options_of(const CommandEntry& command) {
  std::string text, group(kUsual);
  for (const OptionEntry& option : command.options) {
    if (option.group != group) text += fmt::format(".PP\n{}:\n", roff(option.group));
    group = option.group;
    text += paragraph(option);
  }
  return text;
}

std::string synopsis(const CommandEntry& command, std::string_view name) {
  std::string text = fmt::format(".B {}\n[\\fIOPTION\\fR]...", roff(name));
  if (!command.commands.empty()) text += " \\fIVERB\\fR ...";
  for (const OptionEntry& option : command.options) {
    if (!option.by_place) continue;
    const std::string place =
        fmt::format("\\fI{}\\fR{}", roff(option.names.front()), option.repeats ? "..." : "");
    text += option.required ? " " + place : fmt::format(" [{}]", place);
  }
  return text + "\n";
}

/// A footer's lines stay lines.
std::string as_typed(std::string_view text) {
  return text.empty() ? ""
                      : fmt::format(".PP\n.nf\n{}\n.fi\n",
                                    roff(text.substr(0, text.find_last_not_of('\n') + 1)));
}

constexpr std::string_view kStatus = R"(.SH EXIT STATUS
.TP
.B 0
success
.TP
.B 1
a regression was found
.TP
.B 2
the command line, a config or a data set is not valid
.TP
.B 3
incomplete: some cases failed, are missing or are wrong
.TP
.B 4
nothing was measured, or nothing can be
.TP
.B 5
internal error
.TP
.BR 130 ", " 143
interrupted, terminated; what was measured is kept
.SH ENVIRONMENT
.TP
.B NO_COLOR
When it is set and not empty: no colours on a terminal.
.TP
.BR CI ", " TERM=dumb
Progress takes a line for each case instead of rewriting one.
)";

}  // namespace

std::string man_page(const CommandEntry& program) {
  std::string text =
      fmt::format(".TH {} 1 \"\" scalebench \"scalebench\"\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n",
                  roff(upper(program.name)), roff(program.name), roff(program.description));
  text += synopsis(program, program.name) + ".SH OPTIONS\n" + options_of(program) +
          as_typed(program.footer);
  if (!program.commands.empty()) text += ".SH VERBS\n";
  for (const CommandEntry& verb : program.commands) {
    text += fmt::format(".SS {}\n{}.PP\n{}\n", roff(verb.name),
                        synopsis(verb, program.name + " " + verb.name), roff(verb.description));
    text += options_of(verb) + as_typed(verb.footer);
  }
  return text + std::string(kStatus);
}

}  // namespace scalebench
