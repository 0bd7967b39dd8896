// SPDX-License-Identifier: Apache-2.0
// scalebench show RUN: what run printed at its end. Nothing is written.
#include <fmt/format.h>

#include "bench/cli/console.hpp"
#include "bench/record/manifest.hpp"
#include "bench/record/result_row.hpp"
#include "bench/study/analysis/stored_run.hpp"
#include "bench/study/run/result_text.hpp"
#include "bench/study/verbs/verb.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

ExitCode show_run(const std::filesystem::path& run) {
  const Manifest manifest = read_manifest(run);  // refuses what is no run
  Console console(/*speaks=*/true, /*quiet=*/true);
  if (manifest.status != "complete") {
    console.warn(fmt::format("{} is {}: not all of it was measured", run.string(),
                             printable(manifest.status)));
  }
  const auto rows_of = [&](const Schema& schema) {
    bool torn = false;
    std::vector<ResultRow> rows = rows_in(run, schema, &torn);
    if (torn) console.warn(torn_text(run / schema.file), "scalebench verify");
    return rows;
  };
  const std::string text = result_text(rows_of(summary_schema()),
                                       {rows_of(epoch_schema()), rows_of(throughput_schema()),
                                        rows_of(allreduce_schema()), rows_of(kernels_schema())});
  if (text.empty()) {
    fail<UsageError>(
        "{} has no results to show: it holds none of summary.csv, epoch.csv, throughput.csv, "
        "allreduce.csv and kernels.csv",
        run.string());
  }
  console.result(text);
  return ExitCode::ok;
}

}  // namespace

void add_show(CLI::App& verb, Invocation& invocation) {
  auto& run = options_of<std::filesystem::path>(verb, invocation, show_run);
  takes_runs(verb.add_option("run", run,
                             "folder of a run, or of one benchmark's --out (not bench_kernels)"))
      ->required();
}

}  // namespace scalebench
