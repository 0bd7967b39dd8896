// SPDX-License-Identifier: Apache-2.0
#include "bench/study/run/builds.hpp"

#include <fmt/format.h>

#include "bench/study/run/run.hpp"
#include "bench/study/run/setup.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

namespace fs = std::filesystem;

constexpr std::array<const char*, 2> kNames{"a", "b"};

/// Its tables and its seal; whether every launch has ended well.
bool ended_well(StudyRun& run, const Interruption& interruption, Console& console) {
  run.summarise();
  const bool whole = !interruption.stop() && run.failed() == 0;
  run.seal(whole ? "complete" : "partial");
  if (run.failed() > 0) {
    console.warn(fmt::format("{}: {} launches failed", run.folder().string(), run.failed()),
                 "see launches/*/stderr.log there");
  }
  return whole;
}

}  // namespace

BuildRuns measure_builds(const StudyChoice& choice, const std::array<fs::path, 2>& builds,
                         const fs::path& out, const Interruption& interruption, Console& console) {
  std::vector<ResolvedStudy> studies;
  const std::string pair = new_pair();
  for (std::size_t i = 0; i < builds.size(); ++i) {
    StudyChoice its = choice;
    its.out = (out / kNames[i]).string();
    ResolvedStudy& study = studies.emplace_back(resolve(std::move(its), build_in(builds[i])));
    study.pair = pair;
  }
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
