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

ExitCode exit_code_of(const StudyRun& study) {
  if (study.measured() == 0) return ExitCode::nothing_measured;
  return study.failed() > 0 ? ExitCode::incomplete : ExitCode::ok;
}

/// What the job has cost so far and how much of it was training; nothing elsewhere.
void note_job_account(const StudyRun& study, Console& console) {
  const nlohmann::json& job = study.manifest().job;
  if (job.is_null()) return;
  const nlohmann::json& billed = job.at("billed_seconds");
  console.note(fmt::format("job: {} billed so far, {:.1f} s of them training",
                           billed.is_null() ? std::string("unknown seconds")
                                            : fmt::format("{:.1f} s", billed.get<double>()),
                           job.at("training_seconds").get<double>()));
}

}  // namespace

void say_how_to_go_on(const StudyRun& study, const Interruption& interruption, Console& console) {
  const std::string run = study.folder().string();
  if (interruption.stop()) {
    console.warn("partial: interrupted; everything that was measured is kept",
                 fmt::format("go on with: scalebench resume {}", run));
  } else {
    const char* const plural = study.failed() == 1 ? "" : "es";
    console.warn(fmt::format("partial: {} launch{} failed", study.failed(), plural),
                 way_past_failures(study.manifest().launches, run));
  }
}

std::string way_past_failures(const std::vector<LaunchRecord>& launches, const std::string& run) {
  const std::string refusal = fmt::format("exit code {}", static_cast<int>(ExitCode::usage));
  std::size_t failed = 0, refused = 0, measured = 0;
  for (const LaunchRecord& launch : launches) {
    measured += launch.status == "ok" ? 1 : 0;
    if (launch.status != "failed") continue;
    ++failed;
    refused += launch.note == refusal || launch.note.starts_with(refusal + ":") ? 1 : 0;
  }
  const std::string accept =
      measured > 0 ? fmt::format("; leave them out for good: scalebench resume --accept {}", run)
                   : "";
  if (refused == failed) {
    return "what they were asked for is not valid: mend the config, and run it anew" + accept;
  }
  const std::string others =
      refused > 0 ? fmt::format("; {} of them were refused, and need another config", refused) : "";
  return fmt::format("start them again: scalebench resume {}{}{}", run, others, accept);
}

ExitCode name_suspects(const std::vector<std::filesystem::path>& runs, std::string_view format,
                       bool fail_on_host, Console& console, ExitCode code) {
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
  if (format == "table") {
    console.result(line + "\n");
  } else {
    console.last_word(line);
  }
  const bool counts = fail_on_host && !(lost.empty() && named_hosts(hosts).empty());
  return counts && code == ExitCode::ok ? ExitCode::regression : code;
}

ExitCode end_study(StudyRun& study, const Interruption& interruption, const EndOptions& options,
                   Console& console) {
  study.summarise();
  const bool is_whole = !interruption.stop() && (study.failed() == 0 || options.accept_failed);
  study.seal(is_whole ? "complete" : "partial");
  std::string text = result_text(study.table(summary_schema()),
                                 {study.table(throughput_schema()), study.table(allreduce_schema()),
                                  study.table(kernels_schema())});
  for (const Schema* schema : {&scaling_schema(), &throughput_schema(), &allreduce_schema()}) {
    if (options.metrics) text += metric_lines(study.table(*schema));
  }
  if (options.figures) draw_run(study.folder(), console);
  console.note(fmt::format("results: {}", study.folder().string()));
  note_job_account(study, console);
  console.result(text);
  if (!is_whole) say_how_to_go_on(study, interruption, console);
  const ExitCode code =
      name_suspects({study.folder()}, "table", options.fail_on_host, console, exit_code_of(study));
  return interruption.stop() ? interruption.exit_code() : code;
}

ExitCode measure_study(const ResolvedStudy& study, EndOptions end) {
  const StartOptions& options = study.options;
  Console console(/*speaks=*/true, options.quiet);
  if (options.dry_run) {
    print_plan(study, console);
    return ExitCode::ok;
  }
  const Interruption interruption;
  StudyRun run = open_study(study, console);
  run.measure(interruption.stop());
  end.figures = options.figures;
  return end_study(run, interruption, end, console);
}

}  // namespace scalebench
