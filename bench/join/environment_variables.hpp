// SPDX-License-Identifier: Apache-2.0
// The variables of a process by name, and numbers in them.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace scalebench {

using EnvironmentVariables = std::map<std::string, std::string, std::less<>>;

/// Of a null-terminated array of "NAME=value" as ::environ is; empty ones count as not set.
EnvironmentVariables environment_variables(const char* const* environment);

/// Empty when it is not set.
std::string variable(const EnvironmentVariables& variables, std::string_view name);

/// Throws UsageError in one line when `name` is not set, or is no number from `lowest` to `highest`
/// (`why`: where that limit comes from, as "WORLD_SIZE is 4"; may be empty).
int number_in(const EnvironmentVariables& variables, std::string_view name, int lowest, int highest,
              std::string_view why = {});

}  // namespace scalebench
