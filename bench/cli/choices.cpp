// SPDX-License-Identifier: Apache-2.0
#include "bench/cli/choices.hpp"

#include <fmt/ranges.h>

#include "bench/cli/command_line.hpp"

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

}  // namespace scalebench
