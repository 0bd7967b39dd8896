// SPDX-License-Identifier: Apache-2.0
#include "bench/cli/command_line.hpp"

#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>

#include "bench/cli/option_table.hpp"
#include "kernels/error.hpp"
#include "kernels/read_number.hpp"

namespace scalebench {
namespace {

constexpr std::string_view kMark = "offers:";

}  // namespace

CLI::Option* offer(CLI::Option* option, const std::vector<std::string>& values) {
  // The only thing that CLI11 keeps with an option is a validator; the values are this one's name.
  const auto accept = [](std::string&) { return std::string(); };
  return option->check(
      CLI::Validator(accept, "", fmt::format("{}{}", kMark, fmt::join(values, ","))));
}

void add_fail_on_option(CLI::App& app, bool& on_suspect) {
  constexpr std::array<std::string_view, 2> kWords{"nothing", "suspect"};
  const auto take = [&on_suspect, kWords](const std::string& word) {
    require_known("fail-on", word, kWords);
    on_suspect = word == kWords[1];
  };
  CLI::Option* const option = app.add_option_function<std::string>(
      "--fail-on", take,
      "suspect: end with 1 when the last line names a host at fault; default: nothing");
  offer(option, kWords);
}

void add_json_option(CLI::App& app, bool& as_json) {
  app.add_flag("--json", as_json, "one JSON document on stdout instead of text");
}

std::vector<std::string> offered(CLI::Option& option) {
  for (int index = 0;; ++index) {
    try {
      const std::string& name = option.get_validator(index)->get_name();
      if (name.starts_with(kMark)) return split_list(option.get_name(), name.substr(kMark.size()));
    } catch (const CLI::OptionNotFound&) {
      return {};
    }
  }
}

namespace {

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

std::string refuse_extras(const CLI::App& app, const std::vector<std::string>& extras) {
  const std::string given = extras.front().substr(0, extras.front().find('='));
  const std::vector<std::string> owned = option_names(app);
  const std::vector<std::string_view> names(owned.begin(), owned.end());
  return unknown_name(given.starts_with('-') ? "option" : "argument", given, names);
}

/// CLI11's texts may span lines.
std::string in_one_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return text;
}

/// The innermost subcommand that was given.
CLI::App& innermost(CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? app : innermost(*chosen.front());
}

std::vector<CLI::App*> verbs_of(CLI::App& app) {
  return app.get_subcommands([](CLI::App*) { return true; });
}

/// For a word that stands where a verb belongs, which CLI11 calls a missing one.
void refuse_unknown_verb(CLI::App& app) {
  const std::vector<std::string> extras = app.remaining();
  if (verbs_of(app).empty() || !app.get_subcommands().empty() || extras.empty()) return;
  if (extras.front().starts_with('-')) throw UsageError(refuse_extras(app, extras));
  std::vector<std::string> owned;
  for (const CLI::App* verb : verbs_of(app)) owned.push_back(verb->get_name());
  const std::vector<std::string_view> names(owned.begin(), owned.end());
  throw UsageError(unknown_name("verb", extras.front(), names));
}

/// What every program can say about itself, whatever else its command line needs: --man-page and
/// --completion SHELL. They stand alone and are for packagers; --help does not list them.
bool describes_itself(CLI::App& app, std::span<const char* const> words, std::string& text) {
  if (words.size() == 2 && words[1] == std::string_view("--man-page")) {
    text = man_page(command_table(app));
  } else if (words.size() == 3 && words[1] == std::string_view("--completion")) {
    text = completion(command_table(app), words[2]);
  } else {
    return false;
  }
  return true;
}

}  // namespace

bool parse_command_line(CLI::App& app, int argc, const char* const* argv, std::string& text) {
  if (describes_itself(app, {argv, static_cast<std::size_t>(argc)}, text)) return false;
  app.allow_extras();
  for (CLI::App* sub : verbs_of(app)) sub->allow_extras();
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    text = innermost(app).help();
    return false;
  } catch (const CLI::CallForVersion& version) {
    text = std::string(version.what()) + "\n";
    return false;
  } catch (const CLI::ParseError& error) {
    refuse_unknown_verb(app);
    fail<UsageError>("{} (see {} --help)", in_one_line(error.what()), app.get_name());
  }
  const std::vector<std::string> extras = app.remaining(/*recurse=*/true);
  if (!extras.empty()) throw UsageError(refuse_extras(innermost(app), extras));
  return true;
}

std::vector<std::string> split_list(std::string_view option, std::string_view text) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == ',') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  for (const std::string& part : parts) {
    if (part.empty()) fail<UsageError>("{}: '{}' has an empty entry", option, text);
  }
  return parts;
}

std::vector<int> parse_counts(std::string_view option, std::string_view text) {
  std::vector<int> counts;
  for (const std::string& part : split_list(option, text)) {
    const auto count = read_number<int>(part);
    if (!count || *count < 1) {
      fail<UsageError>("{}: '{}' is not a positive whole number", option, part);
    }
    counts.push_back(*count);
  }
  return counts;
}

void require_known(std::string_view kind, std::string_view name,
                   std::span<const std::string_view> valid) {
  if (std::ranges::find(valid, name) == valid.end()) {
    throw UsageError(unknown_name(kind, name, valid));
  }
}

}  // namespace scalebench
