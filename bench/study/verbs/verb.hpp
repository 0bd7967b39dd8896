// SPDX-License-Identifier: Apache-2.0
// What a verb of scalebench is: a subcommand with its options, and what happens when it is chosen.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/cli/exit.hpp"

namespace CLI {
class App;
}  // namespace CLI

namespace scalebench {

/// One start of scalebench.
struct Invocation {
  std::vector<std::string> command;       // argv as typed
  std::vector<std::string> after_dashes;  // what follows --; refused where `takes_more` is not set
  bool takes_more = false;
  bool starts_ranks = false;         // on all hosts of a start, in which it runs once
  std::function<ExitCode()> chosen;  // set while parsing, by the verb that was typed
};

// add_run and so on: the options of the verb, and a callback that sets `invocation.chosen` (and
// nothing more: what can fail does so when that is called).
#define VERB(name, ...) void add_##name(CLI::App& verb, Invocation& invocation);
#include "bench/study/verbs/verbs.def"
#undef VERB

}  // namespace scalebench
