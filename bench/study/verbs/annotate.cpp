// SPDX-License-Identifier: Apache-2.0
// scalebench annotate accept|exclude|pin RUN: what people know of a run, into
// results/annotations.toml, from where the nightly gate takes it.
#include <fmt/format.h>

#include <array>

#include "bench/cli/command_line.hpp"
#include "bench/cli/console.hpp"
#include "bench/record/file.hpp"
#include "bench/record/results_folder.hpp"
#include "bench/study/nightly/history.hpp"
#include "bench/study/verbs/verb.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

namespace fs = std::filesystem;

struct AnnotateOptions {
  std::string kind;
  std::string run;
  std::string cells = "*";
  std::string reason;
  fs::path results = "results";
};

/// How many cells of the run a pattern means; a pattern that means none is a mistake.
std::size_t cells_meant(const AnnotateOptions& options) {
  const Night night = night_of(read_stored_run(options.results / options.run, WithSamples::no));
  std::size_t count = 0;
  for (const NightCell& cell : night.cells) count += matches(options.cells, cell);
  if (count == 0) {
    fail<UsageError>("--cells {}: no cell of {} has such a name, as '{}'", options.cells,
                     options.run, night.cells.empty() ? "" : night.cells.front().label);
  }
  return count;
}

ExitCode annotate(AnnotateOptions options) {
  constexpr std::array<std::string_view, 3> kAnnotationKinds{"accept", "exclude", "pin"};
  require_known("annotation", options.kind, kAnnotationKinds);
  if (options.cells != "*" && options.kind != "accept") {
    fail<UsageError>("--cells goes with accept; {} means the whole run", options.kind);
  }
  options.run = name_in(options.results, options.run);
  const Annotation annotation{options.run, options.cells, options.reason};
  const fs::path file = options.results / "annotations.toml";
  // Of two at once one would forget the other.
  const FolderLock lock = FolderLock::wait_for(options.results);
  const std::string before = fs::exists(file) ? read_file(file) : "";
  const std::string after = annotated(before, options.kind, annotation, file.string());
  const Console console(/*speaks=*/true, /*quiet=*/false);
  std::string meant = options.run;
  if (options.kind == "accept") meant = fmt::format("{} cells of {}", cells_meant(options), meant);
  // One that cannot be read may be excluded for just that.
  if (options.kind == "pin") read_manifest(options.results / options.run);
  write_file_atomically(file, after);
  console.result(fmt::format("{}: {} {}\n", file.string(), options.kind, meant));
  return ExitCode::ok;
}

}  // namespace

void add_annotate(CLI::App& verb, Invocation& invocation) {
  auto& options = options_of<AnnotateOptions>(verb, invocation, annotate);
  verb.add_option("kind", options.kind,
                  "accept (a change: levels start anew), exclude (from every baseline) or pin "
                  "(compare with this run for ever)")
      ->required();
  verb.add_option("run", options.run, "name of a run in --results")->required();
  verb.add_option("--reason", options.reason, "why, for those who come after")->required();
  add_shown(verb, "--cells", options.cells, "accept: only these, as 'allreduce ring*'");
  add_shown(verb, "--results", options.results, "where the runs are");
}

}  // namespace scalebench
