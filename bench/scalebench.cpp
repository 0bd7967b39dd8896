// SPDX-License-Identifier: Apache-2.0
// scalebench: studies over 1..N ranks, and everything that is done with their results. Each verb is
// a line of bench/study/verbs/verbs.def and a file of that name.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/cli/command_line.hpp"
#include "bench/cli/console.hpp"
#include "bench/cli/help.hpp"
#include "bench/cli/stderr.hpp"
#include "bench/launch/side_by_side.hpp"
#include "bench/machine/environment.hpp"
#include "bench/program/program.hpp"
#include "bench/study/run/setup.hpp"
#include "bench/study/verbs/verb.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

std::string typed(std::string name) {
  std::ranges::replace(name, '_', '-');
  return name;
}

bool is_quiet(std::string_view word) { return word == "-q" || word == "--quiet"; }

void add_verbs(CLI::App& app, Invocation& invocation) {
  const auto add = [&](const std::string& name, const char* what, auto add_options,
                       const std::vector<std::string>& examples) {
    CLI::App& verb = *app.add_subcommand(name, what);
    add_options(verb, invocation);
    verb.set_version_flag("-V,--version", build_info().version)->group("");
    add_examples(verb, examples);
  };
#define VERB(name, what, ...) add(typed(#name), what, add_##name, {__VA_ARGS__});
#include "bench/study/verbs/verbs.def"
#undef VERB
  add_examples(app, {"run configs/quick.toml", "compare results/A results/B", "doctor"});
}

/// The exit code of `work`, which of the processes that a platform started side by side only the
/// first does; the others end at once, or when the first has ended where the platform needs that.
/// Each says its part in one line; `quiet`: the first does not.
ExitCode with_first(bool quiet, const std::function<ExitCode()>& work) {
  const auto place = process_place(environment_variables(::environ));
  if (!place) return work();
  if (!place->is_first) {
    print_line(part_of(*place));
    stay_for_first(*place);
    return ExitCode::ok;
  }
  const Descriptor port = port_for_others(*place);  // the others wait until it is closed
  if (!quiet && place->why_no_start.empty()) print_line(part_of(*place));
  return work();
}

ExitCode run(int argc, char** argv) {
  CLI::App app("How far from H/N are N devices, and where did the rest go?", "scalebench");
  app.set_version_flag("-V,--version", build_info().version, "the version of this program");
  app.require_subcommand(1);
  Invocation invocation;
  invocation.command.assign(argv, argv + argc);
  add_verbs(app, invocation);
  if (argc < 2) {
    add_help(app);
    print_line(fmt::format("{}\nscalebench: a verb is missing; to begin: scalebench run {}",
                           help_page(app, /*all=*/false, columns_of_stdout()),
                           (configs_folder() / "quick.toml").string()));
    return ExitCode::usage;
  }
  // CLI11 gives what follows -- to no subcommand.
  char** const end = std::find(argv, argv + argc, std::string_view("--"));
  if (end != argv + argc) invocation.after_dashes.assign(end + 1, argv + argc);
  std::string text;
  std::vector<const char*> words(argv, end);
  // As launchers have it; the parser knows one dash before one letter.
  std::ranges::replace_if(
      words, [](std::string_view word) { return word == "-np"; }, "--np");
  if (!parse_command_line(app, static_cast<int>(words.size()), words.data(), text)) {
    fmt::print("{}", text);
    flush_result();
    return ExitCode::ok;
  }
  if (end != argv + argc && !invocation.takes_more) {
    fail<UsageError>("--: {} takes no more options after it",
                     app.get_subcommands().front()->get_name());
  }
  if (!invocation.starts_ranks) return invocation.chosen();
  return with_first(std::any_of(argv, end, is_quiet), invocation.chosen);
}

}  // namespace
}  // namespace scalebench

int main(int argc, char** argv) {
  return scalebench::guarded("scalebench", [=] { return scalebench::run(argc, argv); });
}
