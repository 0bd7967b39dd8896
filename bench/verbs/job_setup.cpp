// SPDX-License-Identifier: Apache-2.0
#include "bench/verbs/job_setup.hpp"

#include <fmt/format.h>
#include <unistd.h>

namespace scalebench {

void enter_job(StartOptions& options) {
  options.job = managed_job(job_variables(::environ));
  if (!options.job) return;
  ManagedJob& job = *options.job;
  const bool said = !options.out.empty() || options.results_option->count() > 0;
  if (said) job.results.reset();
  if (job.results) options.results = job.results->value;
  job.model.reset();  // a study keeps no model; bench_epoch --checkpoint does
}

int slots_of(const ManagedJob& job, const StudyConfig& config) {
  const int gpus = job.gpus.value_or(0);
  return gpus > 0 && config.device != "cpu" ? gpus : devices_of(config);
}

void note_job_account(const StudyRun& study, Console& console) {
  const nlohmann::json& job = study.manifest().job;
  if (job.is_null()) return;
  const nlohmann::json& billed = job.at("billed_seconds");
  console.note(fmt::format("job: {} billed so far, {:.1f} s of them training",
                           billed.is_null() ? std::string("unknown seconds")
                                            : fmt::format("{:.1f} s", billed.get<double>()),
                           job.at("training_seconds").get<double>()));
}

}  // namespace scalebench
