// SPDX-License-Identifier: Apache-2.0
#include "bench/study/run/end.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "bench/record/suspects.hpp"
#include "bench/study/analysis/stored_run.hpp"
#include "bench/study/analysis/tables.hpp"
#include "bench/study/run/result_text.hpp"
#include "bench/study/run/setup.hpp"

namespace scalebench {
namespace {

ExitCode exit_code_of(const StudyRun& run) {
  if (run.measured() == 0) return ExitCode::nothing_measured;
  return run.failed() > 0 ? ExitCode::incomplete : ExitCode::ok;
}

}  // namespace

bool close_run(StudyRun& run, bool interrupted, bool accept_failed, Console& console) {
  const bool whole = !interrupted && (run.failed() == 0 || accept_failed);
  run.close(whole);
  const std::string folder = run.folder().string();
  if (interrupted) {
    console.warn(folder + " is partial: interrupted; everything that was measured is kept",
                 "go on with: scalebench resume " + folder);
  } else if (!whole) {
    console.warn(fmt::format("{} is partial: {} of {} launches failed", folder, run.failed(),
                             run.manifest().launches.size()),
                 fmt::format("start them again: scalebench resume {0}; leave them out for good: "
                             "scalebench resume --accept {0}",
                             folder));
  }
  return whole;
}

ExitCode name_suspects(const std::vector<std::filesystem::path>& runs, bool fail_on_host,
                       Console& console, ExitCode code) {
  std::vector<ResultRow> hosts;
  std::vector<Suspect> lost;
  for (const std::filesystem::path& run : runs) {
    if (std::filesystem::exists(run / "manifest.json")) {  // not of a night that ended early
      std::ranges::move(lost_hosts(read_manifest(run)), std::back_inserter(lost));
    }
    std::ranges::move(rows_in(run, hosts_schema()), std::back_inserter(hosts));
  }
  hosts = host_rows(hosts);
  const std::string line = suspect_line(lost, hosts);
  if (line.empty()) return code;
  console.result(line + "\n");
  const bool counts = fail_on_host && !(lost.empty() && named_hosts(hosts).empty());
  return counts && code == ExitCode::ok ? ExitCode::regression : code;
}

ExitCode measure_to_end(StudyRun& run, const EndOptions& options, Console& console) {
  const Interruption interruption;
  run.measure(interruption.stop());
  close_run(run, interruption.stop(), options.accept_failed, console);
  std::string text = result_text(run.table(summary_schema()),
                                 {run.table(epoch_schema()), run.table(throughput_schema()),
                                  run.table(allreduce_schema()), run.table(kernels_schema())});
  for (const Schema* schema : {&scaling_schema(), &throughput_schema(), &allreduce_schema()}) {
    if (options.metrics) text += metric_lines(run.table(*schema));
  }
  if (options.figures) draw_run(run.folder(), console);
  console.note(fmt::format("results: {}", run.folder().string()));
  console.result(text);
  const ExitCode code =
      name_suspects({run.folder()}, options.fail_on_host, console, exit_code_of(run));
  return interruption.stop() ? interruption.exit_code() : code;
}

}  // namespace scalebench
