// SPDX-License-Identifier: Apache-2.0
// A program's options as plain values, read off the same table that parses them: what completion
// scripts and man pages are made from, so that neither can fall behind.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}  // namespace CLI

namespace scalebench {

struct OptionEntry {
  std::vector<std::string> names;  // {"-q", "--quiet"}; of an argument by place: {"config"}
  bool by_place = false;
  std::string value;  // FILE, DIR, RUN, TEXT, INT, ...; empty: a flag
  std::string description;
  std::string default_value;         // empty: none, or not worth showing
  std::vector<std::string> choices;  // values worth offering; empty: any
  std::string group;                 // heading
  bool required = false;
  bool repeats = false;  // by place: takes more than one
};

struct CommandEntry {
  std::string name;
  std::string description;
  std::string footer;
  std::vector<OptionEntry> options;  // in the order of --help, without hidden ones
  std::vector<CommandEntry> commands;
};

CommandEntry command_table(CLI::App& app);

}  // namespace scalebench
