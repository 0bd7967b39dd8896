// SPDX-License-Identifier: Apache-2.0
// Completion scripts from a program's option table: verbs, options, the values that options offer
// (in bash also inside lists with commas), files and folders where the table says FILE, DIR or RUN.
// Each script stands alone: no other package is needed.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "bench/cli/option_table.hpp"

namespace scalebench {

inline constexpr std::array<std::string_view, 3> kShells{"bash", "zsh", "fish"};

/// The script for `shell`. Throws UsageError when it is none of kShells.
std::string completion(const CommandEntry& program, std::string_view shell);

std::string bash_completion(const CommandEntry& program);
std::string zsh_completion(const CommandEntry& program);
std::string fish_completion(const CommandEntry& program);

/// What fills a value's place. Arguments by place without any hint may be files.
enum class Filler { nothing, choices, files, folders };
Filler filler_of(const OptionEntry& option);

/// The first sentence of a description, for a menu: up to 72 characters of it.
std::string brief_of(std::string_view description);

}  // namespace scalebench
