// SPDX-License-Identifier: Apache-2.0
// scalebench man: the manual page of scalebench itself.
#include "bench/cli/console.hpp"
#include "bench/cli/option_table.hpp"
#include "bench/study/verbs/verb.hpp"

namespace scalebench {

void add_man(CLI::App& verb, Invocation& invocation) {
  verb.footer(
      "To read it:  scalebench man | man -l -\n"
      "The benchmarks have one too, as bench_allreduce --man-page.");
  verb.callback([&verb, &invocation] {
    invocation.chosen = [&verb] {
      const Console console(/*speaks=*/true, /*quiet=*/true);
      console.result(man_page(command_table(*verb.get_parent())));
      return ExitCode::ok;
    };
  });
}

}  // namespace scalebench
