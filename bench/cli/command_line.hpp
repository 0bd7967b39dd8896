// SPDX-License-Identifier: Apache-2.0
// What every program's command line has in common: one clear line for what is wrong with it, lists
// separated by commas, names out of a table.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/cli/app.hpp"

namespace scalebench {

/// Parses argv into what `app`'s options are bound to. Returns false when help, a version, the
/// manual page (--man-page) or a completion script (--completion SHELL) was asked for and has been
/// put into `text`. Throws UsageError in one line: for an unknown option or verb with the nearest
/// valid one.
bool parse_command_line(CLI::App& app, int argc, const char* const* argv, std::string& text);

/// "a,b,c" -> {"a", "b", "c"}. Throws UsageError, naming `option`, when a part is empty.
std::vector<std::string> split_list(std::string_view option, std::string_view text);

/// "1,2,4" -> {1, 2, 4}. Throws UsageError, naming `option`, unless all are whole and positive.
std::vector<int> parse_counts(std::string_view option, std::string_view text);

/// Throws UsageError with the valid names and the nearest unless `name` is one of them.
void require_known(std::string_view kind, std::string_view name,
                   std::span<const std::string_view> valid);

}  // namespace scalebench
