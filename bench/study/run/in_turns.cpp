// SPDX-License-Identifier: Apache-2.0
#include "bench/study/run/in_turns.hpp"

#include <fmt/format.h>

#include <array>
#include <exception>
#include <future>
#include <optional>
#include <random>
#include <set>
#include <utility>

#include "bench/launch/turns.hpp"
#include "bench/machine/digest.hpp"
#include "bench/record/file.hpp"
#include "bench/study/analysis/pairs.hpp"
#include "bench/study/run/end.hpp"
#include "bench/study/run/setup.hpp"
#include "kernels/device.hpp"

namespace scalebench {

namespace {

namespace fs = std::filesystem;

/// A word that no other pair of runs has.
std::string new_pair() {
  constexpr std::size_t kDigits = 12;
  return sha256_of(fmt::format("{} {}", utc_label(), std::random_device()())).substr(0, kDigits);
}

/// Cards' memory would have to hold both, and other hosts' ranks cannot be told from here.
bool can_take_turns(const StudyRun& run, std::size_t place) {
  const LaunchSettings& settings = run.settings();
  const bool on_cpu = settings.device == "cpu" || device_count() == 0;
  return on_cpu && settings.hosts.empty() && run.plan()[place].nodes == 1;
}

/// `first` is there, and has set itself up, before `second` is started.
void measure_both(StudyRun& first, StudyRun& second, std::size_t place,
                  const std::array<std::string, 2>& labels, const std::atomic<bool>& stop) {
  constexpr double kShare = 0.5;
  const std::array<StudyRun*, 2> runs{&first, &second};
  std::array<std::optional<StudyRun::Begun>, 2> begun;
  Turns turns(first.plan()[place].ranks);
  std::array<std::future<LaunchEnd>, 2> ends;
  std::exception_ptr failure;  // is thrown when both have ended, and what they measured is kept
  const auto attempt = [&](const auto& work) {
    try {
      work();
    } catch (...) {
      if (!failure) failure = std::current_exception();
    }
  };
  for (std::size_t i = 0; i < runs.size(); ++i) {
    attempt([&] {
      if (!stop && !failure) begun[i] = runs[i]->begin(place, labels[i], kShare);
    });
    if (!begun[i]) {
      turns.ended(i);
      continue;
    }
    Variables environment = runs[i]->settings().environment;
    for (auto& variable : turns.variables(i)) environment.push_back(std::move(variable));
    ends[i] = std::async(std::launch::async, [&, i, environment = std::move(environment)] {
      try {
        const LaunchEnd end = begun[i]->run(environment, stop);
        turns.ended(i);
        return end;
      } catch (...) {
        turns.ended(i);
        throw;
      }
    });
    turns.until_ready(i, stop);
  }
  turns.begin();
  for (const auto& end : ends) {
    if (end.valid()) end.wait();
  }
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (!begun[i]) continue;
    attempt([&] {
      LaunchEnd end = ends[i].get();
      end.seconds *= kShare;
      runs[i]->finish(std::move(*begun[i]), end);
    });
  }
  if (failure) std::rethrow_exception(failure);
}

void measure_in_turns(StudyRun& a, StudyRun& b, const std::atomic<bool>& stop) {
  for (std::size_t i = 0; i < a.plan().size() && !stop; ++i) {
    const bool a_begins = a.plan()[i].round % 2 == 0;
    if (can_take_turns(a, i) && can_take_turns(b, i)) {
      if (a_begins) {
        measure_both(a, b, i, {"A ", "B "}, stop);
      } else {
        measure_both(b, a, i, {"B ", "A "}, stop);
      }
      continue;
    }
    for (const bool turn_of_a : {a_begins, !a_begins}) {
      if (!stop) (turn_of_a ? a : b).measure(i, turn_of_a ? "A " : "B ", stop);
    }
  }
}

}  // namespace

bool measure_pair(ResolvedStudy a, ResolvedStudy b, const std::atomic<bool>& stop,
                  Console& console) {
  a.pair = b.pair = new_pair();
  StudyRun run_a = open_study(a, console), run_b = open_study(b, console);
  measure_in_turns(run_a, run_b, stop);
  console.clear_progress();
  const bool a_whole = close_run(run_a, stop, /*accept_failed=*/false, console);
  return close_run(run_b, stop, /*accept_failed=*/false, console) && a_whole;
}

namespace {

/// Before hours are spent: rounds that are too few for any verdict, were there one cell a launch.
void warn_of_few_rounds(const std::vector<PlannedLaunch>& plan, Console& console) {
  std::set<std::string> entries;
  for (const PlannedLaunch& launch : plan) entries.insert(launch.name);
  const std::size_t rounds = entries.empty() ? 0 : plan.size() / entries.size();
  const std::size_t needed = launches_needed(entries.size(), /*paired=*/true);
  if (rounds >= needed) return;
  console.warn(fmt::format("{} rounds can show no difference among {} cells or more", rounds,
                           entries.size()),
               fmt::format("--launches {}, or more", needed));
}

}  // namespace

BuildRuns measure_builds(const StudyChoice& choice, const std::array<fs::path, 2>& builds,
                         const fs::path& out, const std::atomic<bool>& stop, Console& console) {
  std::vector<ResolvedStudy> studies;
  for (std::size_t i = 0; i < builds.size(); ++i) {
    StudyChoice its = choice;
    its.out = (out / (i == 0 ? "a" : "b")).string();
    studies.push_back(resolve(std::move(its), build_in(builds[i])));
  }
  warn_of_few_rounds(studies[0].plan, console);
  BuildRuns runs{{studies[0].options.out, studies[1].options.out}, false};
  runs.complete = measure_pair(std::move(studies[0]), std::move(studies[1]), stop, console);
  return runs;
}

}  // namespace scalebench
