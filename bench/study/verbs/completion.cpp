// SPDX-License-Identifier: Apache-2.0
// scalebench completion SHELL: the completion script of scalebench itself.
#include <memory>

#include "bench/cli/command_line.hpp"
#include "bench/cli/console.hpp"
#include "bench/cli/option_table.hpp"
#include "bench/study/verbs/verb.hpp"

namespace scalebench {

void add_completion(CLI::App& verb, Invocation& invocation) {
  const auto shell = std::make_shared<std::string>();
  offer(verb.add_option("shell", *shell, "bash, zsh or fish")->required(), kShells);
  verb.footer(
      "In bash:  source <(scalebench completion bash)\n"
      "The benchmarks have it too, as bench_allreduce --completion bash.");
  verb.callback([shell, &verb, &invocation] {
    invocation.chosen = [shell, &verb] {
      const Console console(/*speaks=*/true, /*quiet=*/true);
      console.result(completion(command_table(*verb.get_parent()), *shell));
      return ExitCode::ok;
    };
  });
}

}  // namespace scalebench
