// SPDX-License-Identifier: Apache-2.0
// A program's options as plain values, read off the same table that parses them, and what is made
// of them, so that neither can fall behind: completion scripts and the manual page.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}  // namespace CLI

namespace scalebench {

struct OptionEntry {
  std::vector<std::string> names;  // {"-q", "--quiet"}; of an argument by place: {"config"}
  bool by_place = false;
  std::string value;  // FILE, DIR, RUN, TEXT, N, ...; empty: a flag
  std::string description;
  std::string default_value;         // empty: none, or not worth showing
  std::vector<std::string> choices;  // values worth offering; empty: any
  std::string group;                 // heading; kUsual where nothing else was said
  std::vector<std::string> needs;    // options without which it means nothing
  bool required = false;
  bool repeats = false;  // by place: takes more than one
};

struct CommandEntry {
  std::string name;
  std::string path;  // with the commands before it: "scalebench nightly accept"
  std::string description;
  std::string footer;
  std::vector<OptionEntry> options;  // by heading, the usual ones first, without hidden ones
  std::vector<CommandEntry> commands;
  bool needs_command = false;  // one of them has to be typed
};

CommandEntry command_table(CLI::App& app);

// Completion scripts: verbs, options, the values that options offer (in bash also inside lists with
// commas), files and folders where the table says FILE, DIR or RUN. Each script stands alone: no
// other package is needed.

inline constexpr std::array<std::string_view, 3> kShells{"bash", "zsh", "fish"};

/// The script for `shell`. Throws UsageError when it is none of kShells.
std::string completion(const CommandEntry& program, std::string_view shell);

/// The manual page (man(7) macros, ASCII).
std::string man_page(const CommandEntry& program);

}  // namespace scalebench
