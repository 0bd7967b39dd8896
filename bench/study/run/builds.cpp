// SPDX-License-Identifier: Apache-2.0
#include "bench/study/run/builds.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "bench/study/analysis/pairs.hpp"
#include "bench/study/run/in_turns.hpp"
#include "bench/study/run/rerun.hpp"
#include "bench/study/run/run.hpp"
#include "bench/study/run/setup.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

namespace fs = std::filesystem;

constexpr std::array<const char*, 2> kNames{"a", "b"};
constexpr const char* kFirst = "first";

/// Its tables and its seal; whether every launch has ended well.
bool ended_well(StudyRun& run, const Interruption& interruption, Console& console) {
  run.summarise();
  const bool whole = !interruption.stop() && run.failed() == 0;
  run.seal(whole ? "complete" : "partial");
  if (run.failed() > 0) {
    console.warn(fmt::format("{}: {} launch{} failed", run.folder().string(), run.failed(),
                             run.failed() == 1 ? "" : "es"),
                 "see launches/*/stderr.log there");
  }
  return whole;
}

/// Which launches hold what, by one round of one build.
struct FirstRound {
  std::map<std::string, std::set<std::string>> cells;  // by launch
  std::set<std::string> wanted;
};

FirstRound first_round(StudyChoice choice, const Build& build, const fs::path& out,
                       const KeepCells& keep, const Interruption& interruption, Console& console) {
  choice.launches = 1;
  choice.out = (out / kFirst).string();
  const ResolvedStudy study = resolve(std::move(choice), build);
  StudyRun run = open_study(study, console);
  run.measure(interruption.stop());
  console.clear_progress();
  ended_well(run, interruption, console);
  FirstRound round;
  if (interruption.stop()) return round;
  const StoredRun stored = read_stored_run(run.folder(), WithSamples::no);
  round.cells = cells_by_launch(stored, study.plan);
  std::vector<Cell> cells = cells_of(stored);
  std::vector<std::string> labels;
  for (const auto& [key, label] : labels_of(cells)) labels.push_back(label);
  std::ranges::sort(labels);
  keep(cells);
  for (const Cell& cell : cells) round.wanted.insert(cell.key + "/seconds");
  if (round.wanted.empty()) {
    fail<UsageError>("no such cell among the {} of {}: {}", labels.size(), run.folder().string(),
                     fmt::join(labels, "; "));
  }
  return round;
}

/// Before hours are spent: rounds that are too few for any verdict. `cells` 0: at least one for
/// each launch of a round.
void warn_of_few_rounds(const std::vector<PlannedLaunch>& plan, std::size_t cells,
                        Console& console) {
  std::set<std::string> names;
  for (const PlannedLaunch& launch : plan) names.insert(launch.name);
  const std::size_t rounds = names.empty() ? 0 : plan.size() / names.size();
  const std::size_t fewest = cells > 0 ? cells : names.size();
  const std::size_t needed = launches_needed(fewest, /*paired=*/true);
  if (rounds >= needed) return;
  console.warn(fmt::format("{} rounds can show no difference among {} cells{}", rounds, fewest,
                           cells > 0 ? "" : " or more"),
               fmt::format("--launches {}, or more", needed));
}

}  // namespace

BuildRuns measure_builds(const StudyChoice& choice, const std::array<fs::path, 2>& builds,
                         const fs::path& out, const KeepCells& keep,
                         const Interruption& interruption, Console& console) {
  FirstRound first;
  if (keep) {
    build_in(builds[1]);  // is there, before anything starts
    first = first_round(choice, build_in(builds[0]), out, keep, interruption, console);
    if (interruption.stop()) return {};
  }
  std::vector<ResolvedStudy> studies;
  const std::string pair = new_pair();
  for (std::size_t i = 0; i < builds.size(); ++i) {
    StudyChoice its = choice;
    its.out = (out / kNames[i]).string();
    ResolvedStudy& study = studies.emplace_back(resolve(std::move(its), build_in(builds[i])));
    study.pair = pair;
    if (keep) study.plan = plan_holding(study.plan, first.cells, first.wanted);
  }
  warn_of_few_rounds(studies[0].plan, first.wanted.size(), console);
  StudyRun a = open_study(studies[0], console);
  StudyRun b = open_study(studies[1], console);
  measure_in_turns(a, b, interruption.stop());
  console.clear_progress();
  BuildRuns runs{{a.folder(), b.folder()}, false};
  const bool a_whole = ended_well(a, interruption, console);
  runs.complete = ended_well(b, interruption, console) && a_whole;
  return runs;
}

}  // namespace scalebench
