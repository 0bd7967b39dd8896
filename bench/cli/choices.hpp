// SPDX-License-Identifier: Apache-2.0
// The values that an option takes, kept with the option: completion offers them and the man page
// lists them. Whether a value is right is decided where it is used, which knows more (lists,
// files).
#pragma once

#include <CLI/CLI.hpp>
#include <ranges>
#include <string>
#include <string_view>
#include <vector>

namespace scalebench {

/// Names without blanks or commas. Returns `option`, for chains.
CLI::Option* offer(CLI::Option* option, const std::vector<std::string>& values);

template <std::ranges::input_range Names>
CLI::Option* offer(CLI::Option* option, const Names& names) {
  std::vector<std::string> values;
  for (const auto& name : names) values.emplace_back(name);
  return offer(option, values);
}

/// What was offered; empty: nothing was.
std::vector<std::string> offered(CLI::Option& option);

}  // namespace scalebench
