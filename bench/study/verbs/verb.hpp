// SPDX-License-Identifier: Apache-2.0
// What a verb of scalebench is: a subcommand with its options, and what happens when it is chosen.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/cli/exit.hpp"
#include "bench/record/run_name.hpp"

namespace scalebench {

/// One start of scalebench.
struct Invocation {
  std::vector<std::string> command;       // argv as typed
  std::vector<std::string> after_dashes;  // what follows --; refused where `takes_more` is not set
  bool takes_more = false;
  bool starts_ranks = false;         // on all hosts of a start, in which it runs once
  std::function<ExitCode()> chosen;  // set while parsing, by the verb that was typed
};

/// What stands before a subcommand of `verb` is unknown to that.
inline void refuse_before(const CLI::App& verb) {
  const std::string command = verb.get_subcommands().front()->get_name();
  for (const CLI::Option* const option : verb.get_options()) {
    if (option->count() == 0) continue;
    throw CLI::ExtrasError(fmt::format("{}: {} takes nothing before it, options behind it",
                                       option->get_name(), command),
                           CLI::ExitCodes::ExtrasError);
  }
}

/// The options of `verb`, for its command line to be bound to. Once the verb is typed they know
/// argv and what follows --, where they have a `command` and `more`, and `act` with them is chosen.
/// `starts_ranks`: whether the ranks of a start on several hosts have to meet for that.
template <class Options, class Act>
Options& options_of(CLI::App& verb, Invocation& invocation, Act act,
                    bool (*starts_ranks)(const Options&) = nullptr) {
  const auto options = std::make_shared<Options>();
  verb.callback([=, &verb, &invocation] {
    if (!verb.get_subcommands().empty()) return refuse_before(verb);  // one of its own was typed
    if constexpr (requires { options->command; }) options->command = invocation.command;
    if constexpr (requires { options->more; }) options->more = invocation.after_dashes;
    invocation.takes_more = requires { options->more; };
    invocation.starts_ranks = starts_ranks != nullptr && starts_ranks(*options);
    invocation.chosen = [=] { return act(*options); };
  });
  return *options;
}

template <class Options>
bool unless_dry_run(const Options& options) {
  return !options.dry_run;
}

/// An option whose default the help shows.
template <class Value>
CLI::Option* add_shown(CLI::App& verb, const std::string& name, Value& value,
                       const std::string& what) {
  return verb.add_option(name, value, what)->capture_default_str();
}

/// An option or argument that names runs, `latest` among them (run_meant).
inline CLI::Option* takes_runs(CLI::Option* option) {
  const std::function<std::string(std::string)> meant = [](const std::string& typed) {
    return run_meant(typed).string();
  };
  return option->transform(meant)->type_name("RUN");
}

// add_run and so on: the options of the verb, and a callback that sets `invocation.chosen` (and
// nothing more: what can fail does so when that is called).
#define VERB(name, ...) void add_##name(CLI::App& verb, Invocation& invocation);
#include "bench/study/verbs/verbs.def"
#undef VERB

}  // namespace scalebench
