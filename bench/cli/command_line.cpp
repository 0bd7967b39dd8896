// SPDX-License-Identifier: Apache-2.0
#include "bench/cli/command_line.hpp"

#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "bench/cli/help.hpp"
#include "kernels/error.hpp"
#include "kernels/read_number.hpp"

namespace scalebench {
namespace {

/// An option with one of two words; `second`: whether it is that one.
CLI::Option* add_either(CLI::App& app, const std::string& name,
                        std::array<std::string_view, 2> words, bool& second,
                        const std::string& what) {
  const auto take = [name, words, &second](const std::string& word) {
    require_known(name, word, words);
    second = word == words[1];
  };
  return offer(app.add_option_function<std::string>(name, take, what), words);
}

}  // namespace

CLI::Option* offer(CLI::Option* option, const std::vector<std::string>& values) {
  constexpr std::size_t kMost = 16;
  const std::string all = fmt::format("{}", fmt::join(values, "|"));
  return option->type_name(all.size() <= kMost ? all : "NAME");
}

void add_fail_on_option(CLI::App& app, bool& on_host) {
  add_either(app, "--fail-on", {"nothing", "host"}, on_host,
             "host: end with 1 when the last line names a host at fault; default: nothing")
      ->group(kParallelism);
}

CLI::Option* add_format_option(CLI::App& app, bool& as_json) {
  return add_either(app, "--format", {"table", "json"}, as_json,
                    "table, or json: one document on stdout; default: table");
}

namespace {

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> all;
  for (const CLI::Option* const option : shown_options(app)) {
    std::ranges::move(names_of(*option), std::back_inserter(all));
  }
  return all;
}

/// "unknown option '--modle'; did you mean '--model'? See bench_epoch --help".
std::string refusal_of(std::string_view kind, std::string_view given,
                       const std::vector<std::string>& owned, std::string_view command) {
  const std::vector<std::string_view> names(owned.begin(), owned.end());
  const std::string_view near = nearest_name(given, names);
  if (near.empty()) return fmt::format("unknown {} '{}'; see {} --help", kind, given, command);
  return fmt::format("unknown {} '{}'; did you mean '{}'? See {} --help", kind, given, near,
                     command);
}

std::string refuse_extras(CLI::App& app, const std::vector<std::string>& extras) {
  const std::string given = extras.front().substr(0, extras.front().find('='));
  const bool option = given.starts_with('-');
  return refusal_of(option ? "option" : "argument", given,
                    option ? option_names(app) : std::vector<std::string>(), path_of(app));
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
  std::vector<std::string> names;
  for (const CLI::App* verb : verbs_of(app)) names.push_back(verb->get_name());
  throw UsageError(refusal_of("verb", extras.front(), names, app.get_name()));
}

/// Throws UsageError for what has to be given and was not.
void refuse_missing(CLI::App& app) {
  for (const CLI::Option* const option : shown_options(app)) {
    if (!option->get_required() || option->count() > 0) continue;
    if (!option->get_positional()) {
      fail<UsageError>("{} is missing; see {} --help", option->get_name(), path_of(app));
    }
    fail<UsageError>("{} is missing ({}); usage: {}", place_of(*option), option->get_description(),
                     usage_of(app, false));
  }
}

/// What the parser says of a value, in one line and in the users' words.
std::string words_of(const CLI::ParseError& error) {
  std::string text = error.what();
  std::ranges::replace(text, '\n', ' ');
  constexpr std::string_view kNoNumber = "Could not convert: ";
  if (text.starts_with(kNoNumber)) {
    return fmt::format("{}: not a number", text.substr(kNoNumber.size()));
  }
  const std::size_t count = text.find(": 1 required ");
  return count == std::string::npos ? text : text.substr(0, count) + ": a value is missing";
}

/// An empty value is one that a script has forgotten to set: its default would be another command.
/// CLI11 counts a negative one down from the largest that there is.
void refuse_empty_and_negative(CLI::App& app) {
  std::vector<const CLI::Option*> options = std::as_const(app).get_options();
  std::ranges::copy(std::as_const(innermost(app)).get_options(), std::back_inserter(options));
  for (const CLI::Option* const option : options) {
    for (const std::string& value : option->results()) {
      if (option->get_type_name() != "UINT" || !value.starts_with('-')) continue;
      fail<UsageError>("{} {}: must be at least 0", option->get_name(), value);
    }
    if (std::ranges::find(option->results(), "") == option->results().end()) continue;
    fail<UsageError>("{}: the value is empty; leave the option out for its default",
                     option->get_name());
  }
}

}  // namespace

bool parse_command_line(CLI::App& app, int argc, const char* const* argv, std::string& text) {
  add_help(app);
  app.allow_extras();
  for (CLI::App* sub : verbs_of(app)) sub->allow_extras();
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    text = help_page(innermost(app), /*all=*/false, columns_of_stdout());
    return false;
  } catch (const CLI::CallForAllHelp&) {
    text = help_page(innermost(app), /*all=*/true, columns_of_stdout());
    return false;
  } catch (const CLI::CallForVersion& version) {
    text = std::string(version.what()) + "\n";
    return false;
  } catch (const CLI::ParseError& error) {
    refuse_unknown_verb(app);
    if (!app.remaining(/*recurse=*/true).empty()) {
      throw UsageError(refuse_extras(innermost(app), app.remaining(/*recurse=*/true)));
    }
    refuse_missing(innermost(app));
    refuse_empty_and_negative(app);  // which later versions of CLI11 call no number
    fail<UsageError>("{}; see {} --help", words_of(error), path_of(innermost(app)));
  }
  const std::vector<std::string> extras = app.remaining(/*recurse=*/true);
  if (!extras.empty()) throw UsageError(refuse_extras(innermost(app), extras));
  refuse_empty_and_negative(app);
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

std::vector<std::string> split_set(std::string_view option, std::string_view text) {
  std::vector<std::string> once;
  for (std::string& part : split_list(option, text)) {
    if (std::ranges::find(once, part) == once.end()) once.push_back(std::move(part));
  }
  return once;
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
