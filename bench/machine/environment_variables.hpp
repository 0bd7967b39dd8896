// SPDX-License-Identifier: Apache-2.0
// A process's environment variables as a value.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace scalebench {

using EnvironmentVariables = std::map<std::string, std::string, std::less<>>;

/// Of a null-terminated array of "NAME=value" as ::environ is; empty ones count as not set.
inline EnvironmentVariables environment_variables(const char* const* environment) {
  EnvironmentVariables variables;
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    const std::string_view entry = *environment;
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos || equals + 1 == entry.size()) continue;
    variables.emplace(entry.substr(0, equals), entry.substr(equals + 1));
  }
  return variables;
}

}  // namespace scalebench
