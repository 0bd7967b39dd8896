// SPDX-License-Identifier: Apache-2.0
// Options that once had another name: the old one goes on working, and a warning says the new one.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace scalebench {

/// A command line in today's words.
struct CurrentWords {
  std::vector<std::string> words;
  std::vector<std::string> warnings;  // "--data-dir is now --data", each once

  /// Into `words`.
  std::vector<const char*> pointers() const;
};

/// Of what was typed to a program, whose name is the file name of the first word. Throws UsageError
/// for an old option with a value that it never took.
CurrentWords current_words(std::span<const char* const> typed);

}  // namespace scalebench
