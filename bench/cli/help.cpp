// SPDX-License-Identifier: Apache-2.0
#include "bench/cli/help.hpp"

#include <fmt/ranges.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>

namespace scalebench {
namespace {

constexpr std::string_view kExamples = "Examples:\n";
constexpr std::string_view kExitCodes =
    "Exit code: 0 ok · 1 regression · 2 usage · 3 incomplete · 4 nothing measured · 5 internal · "
    "130 ^C";
constexpr std::size_t kMostLeft = 28;  // of a line that an option's names may take

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

/// `text` behind `head`, which ends at `indent` or has a line of its own, as the lines after.
std::string wrapped(std::string head, std::string_view text, std::size_t indent,
                    std::size_t columns) {
  const std::string blanks(indent, ' ');
  std::string page, line = std::move(head);
  if (!line.empty() && characters(line) + 2 > indent) {
    page = line + "\n";
    line = blanks;
  } else {
    line.append(indent - characters(line), ' ');
  }
  bool begins = true;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    if (word.empty()) continue;
    if (!begins && characters(line) + 1 + characters(word) > columns) {
      page += line + "\n";
      line = blanks;
      begins = true;
    }
    if (!begins) line += ' ';
    line += word;
    begins = false;
  }
  return page + line + "\n";
}

/// What is typed behind a name: its few values, or what kind of value.
std::string value_of(const OptionEntry& option) {
  constexpr std::size_t kMost = 16;
  std::string choices = fmt::format("{}", fmt::join(option.choices, "|"));
  if (!choices.empty() && choices.size() <= kMost) return choices;
  return !choices.empty() && option.value == "TEXT" ? "NAME" : option.value;
}

std::string left_of(const OptionEntry& option) {
  if (option.by_place) return "  " + place_of(option);
  const std::string value = value_of(option);
  return fmt::format("  {}{}{}", fmt::join(option.names, ", "), value.empty() ? "" : " ", value);
}

std::string description_of(const OptionEntry& option) {
  std::string text = option.description;
  if (!option.needs.empty()) text += fmt::format("; with {} only", fmt::join(option.needs, ", "));
  if (option.required && !option.by_place) text += " (has to be given)";
  // Of most zeros it says what they stand for.
  const bool said = option.default_value == "0" && text.find("0: ") != std::string::npos;
  if (!said && !option.default_value.empty()) {
    text += fmt::format(" (default: {})", option.default_value);
  }
  return text;
}

std::string section(std::string_view heading, const std::vector<OptionEntry>& options,
                    std::size_t columns) {
  std::size_t widest = 0;
  for (const OptionEntry& option : options) {
    const std::size_t width = characters(left_of(option));
    if (width <= kMostLeft) widest = std::max(widest, width);
  }
  std::string page = fmt::format("\n{}:\n", heading);
  for (const OptionEntry& option : options) {
    page += wrapped(left_of(option), description_of(option), widest + 2, columns);
  }
  return page;
}

/// "--help-all has 51 more: model and data (22), strategy (9)".
std::string others(const std::vector<std::string>& headings,
                   const std::vector<OptionEntry>& options) {
  std::vector<std::string> parts;
  std::size_t all = 0;
  for (std::string heading : headings) {
    const auto count = std::ranges::count(options, heading, &OptionEntry::group);
    all += static_cast<std::size_t>(count);
    if (heading.size() > 1 && std::islower(static_cast<unsigned char>(heading[1])) != 0) {
      heading[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(heading[0])));
    }
    parts.push_back(fmt::format("{} ({})", heading, count));
  }
  return fmt::format("--help-all has {} more: {}", all, fmt::join(parts, ", "));
}

std::string list_of_verbs(const CommandEntry& command, std::size_t columns) {
  if (command.commands.empty()) return "";
  std::size_t widest = 0;
  for (const CommandEntry& verb : command.commands) widest = std::max(widest, verb.name.size());
  std::string page = "\nVerbs:\n";
  for (const CommandEntry& verb : command.commands) {
    page += wrapped("  " + verb.name, verb.description, widest + 4, columns);
  }
  return page;
}

}  // namespace

std::string place_of(const OptionEntry& option) {
  std::string name = option.names.front();
  std::ranges::transform(name, name.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  if (option.repeats) name += "...";
  return name;
}

Heading::Heading(CLI::App& app, const std::string& heading)
    : app_(app), before_(app.option_defaults()->get_group()) {
  app_.option_defaults()->group(heading);
}

Heading::~Heading() { app_.option_defaults()->group(before_); }

void add_examples(CLI::App& app, const std::vector<std::string>& examples, std::string command) {
  if (command.empty()) command = command_table(app).path;
  std::string text = app.get_footer();
  if (!text.empty()) text += "\n\n";
  text += kExamples;
  for (const std::string& example : examples) {
    text += fmt::format("    {}{}{}\n", command, example.empty() ? "" : " ", example);
  }
  app.footer(text);
}

void add_help(CLI::App& app) {
  if (CLI::Option* const help = app.get_help_ptr()) help->description("this page");
  app.set_help_all_flag("--help-all", "all options");
  for (CLI::App* const verb : app.get_subcommands([](CLI::App*) { return true; })) add_help(*verb);
}

std::string usage_of(const CommandEntry& command, bool options) {
  std::string usage = command.path + (options ? " [OPTION]..." : "");
  for (const OptionEntry& option : command.options) {
    if (!option.by_place) continue;
    usage += fmt::format(fmt::runtime(option.required ? " {}" : " [{}]"), place_of(option));
  }
  if (command.commands.empty()) return usage;
  return usage + (command.needs_command ? " VERB ..." : " [VERB ...]");
}

std::string help_page(const CommandEntry& command, bool all, std::size_t columns) {
  std::vector<std::string> headings;
  std::vector<OptionEntry> places;
  for (const OptionEntry& option : command.options) {
    if (option.by_place) places.push_back(option);
    if (option.by_place || std::ranges::count(headings, option.group) > 0) continue;
    headings.push_back(option.group);
  }
  std::string page = wrapped("", command.description, 0, columns);
  page += fmt::format("usage: {}\n", usage_of(command, true));
  if (!places.empty()) page += section("Arguments", places, columns);
  std::vector<std::string> left_out;
  for (const std::string& heading : headings) {
    if (!all && heading != kUsual) {
      left_out.push_back(heading);
      continue;
    }
    std::vector<OptionEntry> options;
    std::ranges::copy_if(command.options, std::back_inserter(options), [&](const auto& option) {
      return !option.by_place && option.group == heading;
    });
    page += section(heading, options, columns);
  }
  if (!left_out.empty()) page += "\n" + wrapped("", others(left_out, command.options), 0, columns);
  page += list_of_verbs(command, columns);
  if (!command.footer.empty()) {
    const std::size_t end = command.footer.find_last_not_of('\n') + 1;
    page += fmt::format("\n{}\n", command.footer.substr(0, end));
  }
  return page + "\n" + wrapped("", kExitCodes, 0, columns);
}

std::size_t columns_of_stdout() {
  constexpr std::size_t kFewest = 60, kMost = 100;
  winsize size{};
  const bool known = isatty(STDOUT_FILENO) == 1 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;
  return known && size.ws_col > 0 ? std::clamp<std::size_t>(size.ws_col, kFewest, kMost) : kMost;
}

}  // namespace scalebench
