// SPDX-License-Identifier: Apache-2.0
#include "bench/study/run/end.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "bench/study/analysis/certificate.hpp"
#include "bench/study/analysis/rows.hpp"
#include "bench/study/run/drawing.hpp"
#include "bench/study/run/text.hpp"

namespace scalebench {
namespace {

struct Metric {
  const Schema& schema;
  std::string_view name;
  std::string_view column;
  std::vector<std::string_view> labels;
};

const std::vector<Metric>& metrics() {
  static const std::vector<std::string_view> kEpoch{
      "model", "gradient_sync", "scaling", "allreduce", "transport", "ranks", "origin"};
  static const std::vector<Metric> kMetrics{
      {scaling_schema(), "efficiency", "efficiency", kEpoch},
      {scaling_schema(), "speedup", "speedup", kEpoch},
      {scaling_schema(), "epoch_seconds", "seconds_median", kEpoch},
      {throughput_schema(), "images_per_s", "images_per_s", {"model", "batch", "ranks", "origin"}},
      {allreduce_schema(),
       "busbw_gb_per_s",
       "busbw_gb_per_s",
       {"algorithm", "transport", "memory", "dtype", "size_bytes", "ranks", "origin"}}};
  return kMetrics;
}

/// Empty cells too must be words.
std::string word_of(std::string text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.+-";
  std::ranges::replace_if(
      text, [&](char c) { return kPlain.find(c) == std::string_view::npos; }, '_');
  return text.empty() ? "none" : text;
}

bool counts(const ResultRow& row) {
  if (row.get("status") != "ok") return false;
  return &row.schema() != &throughput_schema() || row.get("rank") == "all";
}

}  // namespace

std::string metric_lines(const std::vector<ResultRow>& rows) {
  std::string lines;
  for (const ResultRow& row : rows) {
    for (const Metric& metric : metrics()) {
      if (&row.schema() != &metric.schema || !counts(row)) continue;
      const std::string value = row.get(metric.column);
      if (value.empty()) continue;
      lines += fmt::format("scalebench: metric={}", metric.name);
      for (const std::string_view label : metric.labels) {
        lines += fmt::format(" {}={}", label, word_of(row.get(label)));
      }
      lines += fmt::format(" value={}\n", value);
    }
  }
  return lines;
}

std::string metric_lines(const std::filesystem::path& run) {
  std::string lines;
  for (const Schema* schema : {&scaling_schema(), &throughput_schema(), &allreduce_schema()}) {
    lines += metric_lines(rows_in(run, *schema));
  }
  return lines;
}

namespace {

/// Prints what the A/A comparison says.
ExitCode certify(const StudyRun& study, const std::map<int, bool>& is_b, const Console& console) {
  const Certificate certificate = certificate_of(study.launches(allreduce_schema()), is_b);
  console.result(certificate_table(certificate, study.failed()));
  if (certificate.compared == 0) return ExitCode::nothing_measured;
  if (!certificate.incomplete.empty() || study.failed() > 0) return ExitCode::incomplete;
  return certificate.certified() ? ExitCode::ok : ExitCode::regression;
}

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

void say_how_to_go_on(const StudyRun& study, const Interruption& interruption, Console& console) {
  const std::string run = study.folder().string();
  if (interruption.stop()) {
    console.warn("partial: interrupted; everything that was measured is kept",
                 fmt::format("go on with: scalebench resume {}", run));
  } else {
    console.warn(fmt::format("partial: {} launches failed", study.failed()),
                 fmt::format("start them again: scalebench resume --failed {}; let them be: "
                             "scalebench resume {}",
                             run, run));
  }
}

}  // namespace

ExitCode end_study(StudyRun& study, const Interruption& interruption, const EndOptions& options,
                   Console& console) {
  study.summarise();
  const bool is_whole = !interruption.stop() && (study.failed() == 0 || options.accept_failed);
  study.seal(is_whole ? "complete" : "partial");
  const std::map<int, bool> is_b = sides_of(study.plan());
  ExitCode code = exit_code_of(study);
  if (!is_b.empty()) {
    code = certify(study, is_b, console);
  } else {
    console.result(fit_table(study.fits()));
    console.result(scaling_table(study.scaling()));
    if (options.metrics) console.result(metric_lines(study.folder()));
  }
  if (options.figures && is_b.empty()) draw_run(study.folder(), console);
  console.note(fmt::format("results: {}", study.folder().string()));
  note_job_account(study, console);
  if (!is_whole) say_how_to_go_on(study, interruption, console);
  return interruption.stop() ? interruption.exit_code() : code;
}

}  // namespace scalebench
