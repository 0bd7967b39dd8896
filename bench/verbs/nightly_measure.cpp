// SPDX-License-Identifier: Apache-2.0
#include "bench/verbs/nightly_measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "bench/study/certificate.hpp"
#include "bench/study/certify_plan.hpp"
#include "bench/study/rerun_plan.hpp"
#include "bench/verbs/nightly_night.hpp"

namespace scalebench {
namespace {

/// Runs one step with its duration.
class StepClock {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// Two sizes of two algorithms on as many ranks as the study has at most: four cells, which five
/// launches a side can tell apart.
StudyConfig aa_config(const NightSetup& setup, int ranks) {
  StudyConfig config = setup.config;
  config.name = aa_study(setup.config.name);
  config.launches = setup.aa_launches;
  config.ranks = {ranks};
  config.throughput.reset();
  config.epochs.clear();
  const std::string transport =
      setup.config.allreduce ? setup.config.allreduce->transport : std::string("auto");
  AllreduceStudy& study = config.allreduce.emplace();
  study.algorithms = {"ring", "native"};
  study.transport = transport;
  study.min_bytes = "4KiB";
  study.max_bytes = "1MiB";
  study.factor = 256;
  study.max_seconds = 0.1;
  return config;
}

std::string ended(const StudyRun& study, const std::atomic<bool>& stop) {
  if (stop) return "interrupted";
  if (study.failed() == 0) return "";
  return fmt::format("{} launches failed", study.failed());
}

}  // namespace

void measure_aa(const NightSetup& setup, std::vector<NightStep>& steps) {
  const std::vector<PlannedLaunch> sweep =
      plan_of(setup.config, limits_of(setup.options, setup.config));
  int ranks = 1;
  for (const PlannedLaunch& launch : sweep) ranks = std::max(ranks, launch.ranks);
  if (setup.aa_launches == 0 || ranks < 2) {
    steps.push_back({"aa", "skipped", std::nullopt,
                     setup.aa_launches == 0 ? "--aa-launches 0" : "needs 2 ranks"});
    return;
  }
  const StepClock clock;
  const StudyConfig config = aa_config(setup, ranks);
  const std::vector<PlannedLaunch> plan = certify_plan(config, limits_of(setup.options, config));
  StudyRun study = open_study(setup.options, config, plan, *setup.console);
  study.measure(*setup.stop);
  study.summarise();
  const Certificate certificate =
      certificate_of(study.launches(allreduce_schema()), sides_of(plan));
  study.seal(*setup.stop ? "partial" : "complete");
  std::string note = ended(study, *setup.stop);
  if (note.empty()) note = certificate.incomplete;
  const bool quiet = note.empty() && certificate.certified();
  if (note.empty() && !quiet) {
    note = fmt::format("{} of {} cells differ from themselves", certificate.differing,
                       certificate.cells);
  }
  if (!quiet) setup.console->warn("A/A: " + note);
  steps.push_back({"aa", quiet ? "ok" : "warning", clock.seconds(), note});
}

std::filesystem::path measure_sweep(const NightSetup& setup, std::vector<NightStep>& steps) {
  const StepClock clock;
  const std::vector<PlannedLaunch> plan =
      plan_of(setup.config, limits_of(setup.options, setup.config));
  StudyRun study = open_study(setup.options, setup.config, plan, *setup.console);
  study.measure(*setup.stop);
  study.summarise();
  study.seal(*setup.stop ? "partial" : "complete");
  const std::string note = ended(study, *setup.stop);
  const std::string status = study.measured() == 0 ? "failed" : note.empty() ? "ok" : "warning";
  steps.push_back({"sweep", status, clock.seconds(), note});
  return study.folder();
}

void measure_again(const NightSetup& setup, const StoredRun& sweep,
                   const std::set<std::string>& suspects, std::vector<NightStep>& steps) {
  if (suspects.empty()) {
    steps.push_back({"rerun", "skipped", std::nullopt, "no suspects"});
    return;
  }
  const StepClock clock;
  const PlanLimits limits = limits_of(setup.options, setup.config);
  const auto cells = cells_by_launch(sweep, plan_of(setup.config, limits));
  StudyConfig config = setup.config;
  config.name += "-rerun";
  config.seed += 1;  // another order
  const std::vector<PlannedLaunch> plan = rerun_plan(plan_of(config, limits), cells, suspects);
  StudyChoice options = setup.options;
  options.out = (sweep.folder.parent_path() / rerun_name(sweep.manifest.run_id)).string();
  StudyRun study = open_study(options, config, plan, *setup.console);
  study.measure(*setup.stop);
  study.summarise();
  study.seal(*setup.stop ? "partial" : "complete");
  const std::string note = ended(study, *setup.stop);
  steps.push_back({"rerun", note.empty() ? "ok" : "warning", clock.seconds(),
                   note.empty()
                       ? fmt::format("{} cells again, {} launches", suspects.size(), plan.size())
                       : note});
}

}  // namespace scalebench
