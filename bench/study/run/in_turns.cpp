// SPDX-License-Identifier: Apache-2.0
#include "bench/study/run/in_turns.hpp"

#include <fmt/format.h>

#include <array>
#include <exception>
#include <future>
#include <optional>
#include <random>
#include <utility>

#include "bench/launch/turns.hpp"
#include "bench/study/run/end.hpp"
#include "bench/study/run/run.hpp"
#include "kernels/device.hpp"

namespace scalebench {
namespace {

/// A word that no other pair of runs has.
std::string new_pair() {
  std::random_device random;
  return fmt::format("{:06x}{:06x}", random() & 0xffffffU, random() & 0xffffffU);
}

/// Cards' memory would have to hold both, and other hosts' ranks cannot be told from here.
bool can_take_turns(const StudyRun& run, std::size_t place) {
  const LaunchSettings& settings = run.settings();
  const bool on_cpu = settings.device == "cpu" || device_count() == 0;
  return on_cpu && settings.hosts.empty() && run.plan()[place].nodes == 1;
}

struct Side {
  StudyRun& run;
  std::string label;
};

/// A launch of each side; the second is started when the first is there, and has set itself up.
void measure_both(const std::array<Side, 2>& sides, std::size_t place,
                  const std::atomic<bool>& stop) {
  constexpr double kShare = 0.5;
  using Ended = std::pair<std::optional<StudyRun::Begun>, LaunchEnd>;
  Turns turns(sides[0].run.plan()[place].ranks);
  const auto launched = [&](std::size_t i) {
    const StudyRun& run = sides[i].run;
    Ended launch;
    std::exception_ptr failure;
    try {
      Variables environment = run.settings().environment;
      for (auto& variable : turns.variables(i)) environment.push_back(std::move(variable));
      if (!stop) launch.first = sides[i].run.begin(place, sides[i].label, kShare);
      if (launch.first) launch.second = launch.first->run(environment, stop);
    } catch (...) {
      failure = std::current_exception();
    }
    turns.ended(i);
    if (failure) std::rethrow_exception(failure);
    launch.second.seconds *= kShare;
    return launch;
  };
  std::array<std::future<Ended>, 2> launches;
  for (std::size_t i = 0; i < sides.size(); ++i) {
    launches[i] = std::async(std::launch::async, launched, i);
    turns.until_ready(stop);
  }
  turns.begin();
  for (const auto& launch : launches) launch.wait();
  std::exception_ptr failure;  // is thrown when both have ended, and what they measured is kept
  for (std::size_t i = 0; i < sides.size(); ++i) {
    try {
      auto [begun, end] = launches[i].get();
      if (begun) sides[i].run.finish(std::move(*begun), end);
    } catch (...) {
      failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
}

void measure_in_turns(StudyRun& a, StudyRun& b, const std::atomic<bool>& stop) {
  const std::array<Side, 2> a_first{{{a, "A "}, {b, "B "}}}, b_first{{{b, "B "}, {a, "A "}}};
  for (std::size_t i = 0; i < a.plan().size() && !stop; ++i) {
    const auto& sides = a.plan()[i].round % 2 == 0 ? a_first : b_first;
    if (can_take_turns(a, i) && can_take_turns(b, i)) {
      measure_both(sides, i, stop);
      continue;
    }
    for (const Side& side : sides) {
      if (!stop) side.run.measure(i, side.label, stop);
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

}  // namespace scalebench
