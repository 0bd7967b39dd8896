// SPDX-License-Identifier: Apache-2.0
#include "bench/cli/help.hpp"

#include <fmt/ranges.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <functional>
#include <span>

#include "bench/cli/console.hpp"

namespace scalebench {
namespace {

constexpr std::string_view kExamples = "Examples:\n";
constexpr std::string_view kExitCodes =
    "Exit code: 0 ok · 1 regression · 2 usage · 3 incomplete · 4 nothing measured · 5 internal · "
    "130 ^C";
constexpr std::size_t kMostLeft = 28;  // of a line that an option's names may take

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

std::string heading_of(const CLI::Option& option) {
  const std::string group = CLI::detail::to_lower(option.get_group());
  const bool unsaid = group == "options" || group == "positionals";
  return unsaid ? kUsual : option.get_group();
}

/// What is typed behind a name, as users call what the parser has C++'s names for; empty: a flag.
std::string value_of(const CLI::Option& option) {
  if (option.get_items_expected_max() == 0) return "";
  const std::string type = option.get_type_name();
  if (type == "INT" || type == "UINT") return "N";
  return type == "FLOAT" ? "NUMBER" : type;
}

std::string left_of(const CLI::Option& option) {
  if (option.get_positional()) return "  " + place_of(option);
  const std::string value = value_of(option);
  return fmt::format("  {}{}{}", fmt::join(names_of(option), ", "), value.empty() ? "" : " ",
                     value);
}

std::string description_of(const CLI::Option& option) {
  std::string text = option.get_description();
  std::vector<std::string> needs;
  for (const CLI::Option* const needed : option.get_needs()) needs.push_back(needed->get_name());
  if (!needs.empty()) text += fmt::format("; with {} only", fmt::join(needs, ", "));
  if (option.get_required() && !option.get_positional()) text += " (has to be given)";
  const std::string value = option.get_default_str();
  // Of most zeros it says what they stand for.
  const bool said = value == "0" && text.find("0: ") != std::string::npos;
  if (!said && !value.empty()) text += fmt::format(" (default: {})", value);
  return text;
}

std::string section(std::string_view heading, std::span<const CLI::Option* const> options,
                    std::size_t columns) {
  std::size_t widest = 0;
  for (const CLI::Option* const option : options) {
    const std::size_t width = characters(left_of(*option));
    if (width <= kMostLeft) widest = std::max(widest, width);
  }
  std::string page = fmt::format("\n{}:\n", heading);
  for (const CLI::Option* const option : options) {
    page += wrapped(left_of(*option), description_of(*option), widest + 2, columns);
  }
  return page;
}

/// "model and data", but "GPUs".
std::string within_a_line(std::string heading) {
  if (heading.size() > 1 && std::islower(static_cast<unsigned char>(heading[1])) != 0) {
    heading[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(heading[0])));
  }
  return heading;
}

/// A section for each heading, of the usual options alone unless `all`; the others are counted:
/// "--help-all has 51 more: model and data (22), strategy (9)".
std::string sections(std::span<const CLI::Option* const> options, bool all, std::size_t columns) {
  std::string page;
  std::vector<std::string> others;
  std::size_t more = 0;
  while (!options.empty()) {
    const std::string heading = heading_of(*options.front());
    const auto end = std::ranges::find_if(
        options, [&](const CLI::Option* option) { return heading_of(*option) != heading; });
    const auto count = static_cast<std::size_t>(end - options.begin());
    if (all || heading == kUsual) {
      page += section(heading, options.first(count), columns);
    } else {
      others.push_back(fmt::format("{} ({})", within_a_line(heading), count));
      more += count;
    }
    options = options.subspan(count);
  }
  if (others.empty()) return page;
  return page + "\n" +
         wrapped("", fmt::format("--help-all has {} more: {}", more, fmt::join(others, ", ")), 0,
                 columns);
}

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* command) { return !command->get_group().empty(); });
}

std::string list_of_verbs(const CLI::App& app, std::size_t columns) {
  const std::vector<const CLI::App*> verbs = commands_of(app);
  if (verbs.empty()) return "";
  std::size_t widest = 0;
  for (const CLI::App* const verb : verbs) widest = std::max(widest, verb->get_name().size());
  std::string page = "\nVerbs:\n";
  for (const CLI::App* const verb : verbs) {
    page += wrapped("  " + verb->get_name(), verb->get_description(), widest + 4, columns);
  }
  return page;
}

}  // namespace

Heading::Heading(CLI::App& app, const std::string& heading)
    : app_(app), before_(app.option_defaults()->get_group()) {
  app_.option_defaults()->group(heading);
}

Heading::~Heading() { app_.option_defaults()->group(before_); }

void add_examples(CLI::App& app, const std::vector<std::string>& examples, std::string command) {
  if (command.empty()) command = path_of(app);
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

std::string path_of(const CLI::App& app) {
  const CLI::App* const above = app.get_parent();
  return above == nullptr ? app.get_name() : path_of(*above) + " " + app.get_name();
}

std::vector<const CLI::Option*> shown_options(const CLI::App& app) {
  std::vector<const CLI::Option*> options =
      app.get_options([](const CLI::Option* option) { return !option->get_group().empty(); });
  std::vector<std::string> headings{kUsual,    kModelAndData, kMethod,    kParallelism,
                                    kStrategy, kCheckpoints,  kRecording, kFaults};
  for (const CLI::Option* const option : options) {
    const std::string heading = heading_of(*option);
    if (std::ranges::count(headings, heading) == 0) headings.push_back(heading);
  }
  std::ranges::stable_sort(options, {}, [&](const CLI::Option* option) {
    return std::ranges::find(headings, heading_of(*option)) - headings.begin();
  });
  return options;
}

std::vector<std::string> names_of(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  return names;
}

std::string place_of(const CLI::Option& option) {
  std::string name = option.get_name(/*positional=*/true);
  std::ranges::transform(name, name.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  if (option.get_items_expected_max() > 1) name += "...";
  return name;
}

std::string usage_of(const CLI::App& app, bool options) {
  std::string usage = path_of(app) + (options ? " [OPTION]..." : "");
  for (const CLI::Option* const option : shown_options(app)) {
    if (!option->get_positional()) continue;
    usage += fmt::format(fmt::runtime(option->get_required() ? " {}" : " [{}]"), place_of(*option));
  }
  if (commands_of(app).empty()) return usage;
  return usage + (app.get_require_subcommand_min() > 0 ? " VERB ..." : " [VERB ...]");
}

std::string help_page(const CLI::App& app, bool all, std::size_t columns) {
  std::vector<const CLI::Option*> options = shown_options(app);
  const auto named = std::stable_partition(options.begin(), options.end(),
                                           std::mem_fn(&CLI::Option::get_positional));
  const std::span<const CLI::Option* const> places(options.begin(), named);
  std::string page = wrapped("", app.get_description(), 0, columns);
  page += fmt::format("usage: {}\n", usage_of(app, true));
  if (!places.empty()) page += section("Arguments", places, columns);
  page += sections({named, options.end()}, all, columns);
  page += list_of_verbs(app, columns);
  const std::string footer = app.get_footer();
  if (!footer.empty()) {
    page += fmt::format("\n{}\n", footer.substr(0, footer.find_last_not_of('\n') + 1));
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
