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

/// Which entries hold what, by one round of one build.
struct FirstRound {
  CellsOfEntries cells;
  std::set<std::string> wanted;
};

FirstRound first_round(StudyChoice choice, const Build& build, const fs::path& out,
                       const KeepCells& keep, const Interruption& interruption, Console& console) {
  choice.launches = 1;
  choice.out = (out / "first").string();
  const ResolvedStudy study = resolve(std::move(choice), build);
  StudyRun run = open_study(study, console);
  run.measure(interruption.stop());
  end_run(run, interruption.stop(), console);
  FirstRound round;
  if (interruption.stop()) return round;
  const StoredRun stored = read_stored_run(run.folder(), WithSamples::no);
  round.cells = cells_of_entries(stored);
  std::vector<Cell> cells = cells_of(stored);
  std::vector<std::string> labels;
  for (const auto& [key, label] : labels_of(cells)) labels.push_back(label);
  std::ranges::sort(labels);
  keep(cells);
  for (const Cell& cell : cells) round.wanted.insert(cell.key);
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
  for (std::size_t i = 0; i < builds.size(); ++i) {
    StudyChoice its = choice;
    its.out = (out / (i == 0 ? "a" : "b")).string();
    ResolvedStudy& study = studies.emplace_back(resolve(std::move(its), build_in(builds[i])));
    if (keep) study.plan = plan_holding(study.plan, first.cells, first.wanted);
  }
  warn_of_few_rounds(studies[0].plan, first.wanted.size(), console);
  BuildRuns runs{{studies[0].options.out, studies[1].options.out}, false};
  runs.complete =
      measure_pair(std::move(studies[0]), std::move(studies[1]), interruption.stop(), console);
  return runs;
}

}  // namespace scalebench
