// SPDX-License-Identifier: Apache-2.0
#include "bench/join/environment_variables.hpp"

#include <charconv>

#include "kernels/error.hpp"

namespace scalebench {

EnvironmentVariables environment_variables(const char* const* environment) {
  EnvironmentVariables variables;
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    const std::string_view entry = *environment;
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos || equals + 1 == entry.size()) continue;
    variables.emplace(entry.substr(0, equals), entry.substr(equals + 1));
  }
  return variables;
}

std::string variable(const EnvironmentVariables& variables, std::string_view name) {
  const auto found = variables.find(name);
  return found == variables.end() ? std::string() : found->second;
}

int number_in(const EnvironmentVariables& variables, std::string_view name, int lowest, int highest,
              std::string_view why) {
  const std::string text = variable(variables, name);
  const std::string valid = fmt::format("valid: a number from {} to {}{}{}{}", lowest, highest,
                                        why.empty() ? "" : " (", why, why.empty() ? "" : ")");
  if (text.empty()) fail<UsageError>("{} is not set; {}", name, valid);
  int number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end || number < lowest || number > highest) {
    fail<UsageError>("{}: '{}'; {}", name, text, valid);
  }
  return number;
}

}  // namespace scalebench
