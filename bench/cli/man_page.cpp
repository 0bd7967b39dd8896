// SPDX-License-Identifier: Apache-2.0
#include "bench/cli/man_page.hpp"

#include <fmt/ranges.h>
#include <utf8cpp/utf8.h>

#include <algorithm>
#include <cctype>
#include <cstdint>

namespace scalebench {
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
  std::string text, group = "Options";
  for (const OptionEntry& option : command.options) {
    const bool usual = option.group == "Options" || option.group == "Positionals";
    if (!usual && option.group != group) text += fmt::format(".PP\n{}:\n", roff(option.group));
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
