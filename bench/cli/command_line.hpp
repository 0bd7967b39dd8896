// SPDX-License-Identifier: Apache-2.0
// What every program's command line has in common: one clear line for what is wrong with it, lists
// separated by commas, names out of a table.
#pragma once

#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// CLI11's own header costs every source that includes it some five seconds.
namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace scalebench {

/// Help shows `values` behind the option's name, or NAME where they are too long for that. Whether
/// a value is right is decided where it is used, which knows more (lists, files). Returns `option`,
/// for chains.
CLI::Option* offer(CLI::Option* option, const std::vector<std::string>& values);

template <std::ranges::input_range Names>
CLI::Option* offer(CLI::Option* option, const Names& names) {
  std::vector<std::string> values;
  for (const auto& name : names) values.emplace_back(name);
  return offer(option, values);
}

/// --fail-on nothing|host: whether a host that the last line names makes the exit code 1.
void add_fail_on_option(CLI::App& app, bool& on_host);

/// --format table|json.
CLI::Option* add_format_option(CLI::App& app, bool& as_json);

/// Parses argv into what `app`'s options are bound to. Returns false when help or a version was
/// asked for and has been put into `text`. Throws UsageError in one line: for an unknown option or
/// verb with the nearest valid one.
bool parse_command_line(CLI::App& app, int argc, const char* const* argv, std::string& text);

/// "a,b,c" -> {"a", "b", "c"}. Throws UsageError, naming `option`, when a part is empty.
std::vector<std::string> split_list(std::string_view option, std::string_view text);
/// The same, each entry once: what is to be measured is measured once.
std::vector<std::string> split_set(std::string_view option, std::string_view text);

/// "1,2,4" -> {1, 2, 4}. Throws UsageError, naming `option`, unless all are whole and positive.
std::vector<int> parse_counts(std::string_view option, std::string_view text);

/// Throws UsageError with the valid names and the nearest unless `name` is one of them.
void require_known(std::string_view kind, std::string_view name,
                   std::span<const std::string_view> valid);

}  // namespace scalebench
