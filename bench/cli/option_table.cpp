// SPDX-License-Identifier: Apache-2.0
#include "bench/cli/option_table.hpp"

#include <CLI/CLI.hpp>

#include "bench/cli/command_line.hpp"

namespace scalebench {
namespace {

OptionEntry entry_of(CLI::Option& option) {
  OptionEntry entry;
  entry.by_place = option.get_positional();
  if (entry.by_place) {
    entry.names.push_back(option.get_name(/*positional=*/true));
    entry.repeats = option.get_items_expected_max() > 1;
  }
  for (const std::string& name : option.get_snames()) entry.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) entry.names.push_back("--" + name);
  if (option.get_items_expected_max() > 0) entry.value = option.get_type_name();
  entry.description = option.get_description();
  entry.default_value = option.get_default_str();
  entry.choices = offered(option);
  entry.group = option.get_group();
  entry.required = option.get_required();
  return entry;
}

}  // namespace

CommandEntry command_table(CLI::App& app) {
  CommandEntry command{app.get_name(), app.get_description(), app.get_footer(), {}, {}};
  for (CLI::Option* option : app.get_options([](CLI::Option*) { return true; })) {
    if (!option->get_group().empty()) command.options.push_back(entry_of(*option));
  }
  for (CLI::App* sub : app.get_subcommands([](CLI::App*) { return true; })) {
    if (!sub->get_group().empty()) command.commands.push_back(command_table(*sub));
  }
  return command;
}

}  // namespace scalebench
