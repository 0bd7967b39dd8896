// SPDX-License-Identifier: Apache-2.0
// Each instant of made-up epochs lands in the state that the rules say, and the states sum to the
// epoch whatever the traces look like.
#include "bench/training/epoch/attribution.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <random>

#include "kernels/error.hpp"

namespace scalebench {
namespace {

constexpr double kExact = 1e-9;

struct EpochStates {
  double seconds = 0;
  std::vector<States> ranks;
  std::vector<std::vector<double>> waits;  // by rank, in halves of the steps
  double wait_jitter = 0;
  Laggard laggard;
};

/// All of it from whole traces, at least one, as the ranks of an epoch come to it together.
EpochStates attribute(std::span<const RankTrace> traces) {
  const double begin = std::ranges::min(traces, {}, &RankTrace::begin).begin;
  const double end = std::ranges::max(traces, {}, &RankTrace::end).end;
  std::vector<std::vector<double>> arrivals;
  for (const RankTrace& trace : traces) arrivals.push_back(arrivals_of(trace));
  const std::vector<double> last = last_arrivals(arrivals);
  EpochStates epoch;
  epoch.seconds = end - begin;
  std::vector<double> steps(traces.size());
  const std::vector<double> cuts =
      cuts_between_steps(last, std::ranges::max(traces, {}, [](const RankTrace& trace) {
                                 return trace.steps.size();
                               }).steps.size());
  std::vector<std::vector<double>> waits;
  for (const RankTrace& trace : traces) {
    waits.push_back(waits_in_halves(cuts, trace, last, end));
    epoch.ranks.push_back(states_of(trace, last, begin, end));
    const std::vector<double> seen = steps_last(trace, arrivals);
    std::ranges::transform(steps, seen, steps.begin(), std::plus<>());
  }
  epoch.waits = waits;
  epoch.wait_jitter = wait_jitter(cuts, waits);
  epoch.laggard = laggard_of(steps);
  return epoch;
}

void expect_states(const States& states, double compute, double transfer, double wait, double input,
                   double evaluation, double host) {
  const double expected[] = {compute, transfer, wait, input, evaluation, host};
  for (std::size_t i = 0; i < kStateNames.size(); ++i) {
    EXPECT_NEAR(states.seconds[i], expected[i], kExact) << kStateNames[i];
  }
}

/// One step: loads for 1 s, computes until `ready`, reduces until `ended`, updates for 1 s.
RankTrace one_step(double ready, double ended) {
  return {.begin = 0,
          .end = ended + 2,
          .phases = {{1, Phase::load},
                     {2, Phase::forward},
                     {3, Phase::backward},
                     {ready, Phase::sync},
                     {ended, Phase::update},
                     {ended + 1, Phase::evaluate},
                     {ended + 1.5, Phase::other}},
          .exchanges = {{Exchange::collective, ready, ended}},
          .steps = {1}};
}

TEST(Attribution, PartsWaitingFromTransferAtTheLastArrival) {
  const std::vector<RankTrace> traces{one_step(4, 9), one_step(7, 9)};
  const EpochStates epoch = attribute(traces);
  EXPECT_EQ(epoch.seconds, 11);
  expect_states(epoch.ranks[0], 2 + 1, 2, 3, 1, 0.5, 1.5);
  expect_states(epoch.ranks[1], 5 + 1, 2, 0, 1, 0.5, 1.5);
  EXPECT_EQ(epoch.laggard.rank, 1);
  EXPECT_EQ(epoch.laggard.share, 1);
  EXPECT_NEAR(epoch.wait_jitter, 0, kExact);
}

TEST(Attribution, HidesWhatMovesUnderComputation) {
  RankTrace trace{.begin = 0,
                  .end = 10,
                  .phases = {{0, Phase::backward}, {6, Phase::sync}, {9, Phase::update}},
                  .exchanges = {{Exchange::collective, 2, 5},
                                {Exchange::collective, 3, 7},  // overlaps the one before
                                {Exchange::transfer, 6.5, 7.5},
                                {Exchange::wait, 8, 8.5}},
                  .steps = {0}};
  const States states = attribute({{trace}}).ranks[0];
  expect_states(states, 7, 1.5, 0.5, 0, 0, 1);
  EXPECT_NEAR(states.hidden, 4, kExact);
}

TEST(Attribution, CountsTransferWhereOneMovesAndAnotherWaits) {
  RankTrace early{.begin = 0,
                  .end = 10,
                  .phases = {{0, Phase::sync}},
                  .exchanges = {{Exchange::collective, 1, 9}, {Exchange::collective, 2, 10}}};
  RankTrace late = early;
  late.exchanges[0].posted = 3;
  late.exchanges[1].posted = 8;
  const EpochStates epoch = attribute({{early, late}});
  expect_states(epoch.ranks[0], 0, 7, 2, 0, 0, 1);
  expect_states(epoch.ranks[1], 0, 7, 0, 0, 0, 3);
}

TEST(Attribution, WaitsForTheEndOfOthersAndBooksALateBeginOnTheHost) {
  RankTrace first{.begin = 0, .end = 5, .phases = {{0, Phase::forward}}};
  RankTrace second{.begin = 1, .end = 8, .phases = {{1, Phase::forward}}};
  const EpochStates epoch = attribute({{first, second}});
  expect_states(epoch.ranks[0], 5, 0, 3, 0, 0, 0);
  expect_states(epoch.ranks[1], 7, 0, 0, 0, 0, 1);
  EXPECT_EQ(epoch.laggard.rank, -1) << "no collective: no step has a last rank";
}

TEST(Attribution, AnEmptyTraceIsTheHosts) {
  const EpochStates epoch = attribute({{RankTrace{.begin = 2, .end = 5}}});
  expect_states(epoch.ranks[0], 0, 0, 0, 0, 0, 3);
  EXPECT_EQ(attribute({{RankTrace{}}}).ranks[0].total(), 0);
}

TEST(Attribution, LeavesRanksWithoutCollectivesOut) {
  const RankTrace server{
      .begin = 0, .end = 11, .phases = {{0, Phase::sync}}, .exchanges = {{Exchange::wait, 0, 11}}};
  const EpochStates epoch = attribute({{one_step(4, 9), server, one_step(7, 9)}});
  expect_states(epoch.ranks[0], 3, 2, 3, 1, 0.5, 1.5);
  expect_states(epoch.ranks[1], 0, 0, 11, 0, 0, 0);
  EXPECT_EQ(epoch.laggard.rank, 2);
}

TEST(Attribution, RefusesTracesThatDoNotPair) {
  RankTrace more = one_step(4, 9);
  more.exchanges.push_back({Exchange::collective, 9, 9.5});
  EXPECT_THROW(attribute({{one_step(4, 9), more}}), Error);
}

/// `steps` steps of one collective, which the ranks reach after `ready(step, rank)` seconds.
template <class Ready>
std::vector<RankTrace> lockstep(int steps, int ranks, const Ready& ready) {
  std::vector<RankTrace> traces(static_cast<std::size_t>(ranks));
  double now = 0;
  for (int step = 0; step < steps; ++step) {
    double last = 0;
    for (int rank = 0; rank < ranks; ++rank) last = std::max(last, ready(step, rank));
    for (int rank = 0; rank < ranks; ++rank) {
      RankTrace& trace = traces[static_cast<std::size_t>(rank)];
      trace.steps.push_back(now);
      trace.phases.push_back({now, Phase::forward});
      trace.phases.push_back({now + ready(step, rank), Phase::sync});
      trace.exchanges.push_back({Exchange::collective, now + ready(step, rank), now + last + 1});
    }
    now += last + 1;
  }
  for (RankTrace& trace : traces) trace.end = now;
  return traces;
}

TEST(Attribution, TellsAlwaysLateFromSometimesLate) {
  // Rank 1 takes 3 s more in each step, rank 0 another 4 s in every second one.
  const EpochStates epoch = attribute(lockstep(
      10, 2, [](int step, int rank) { return 1.0 + 3 * rank + (rank == 0 && step % 2 ? 4 : 0); }));
  // c: rank 0 takes 1, 5, ..., rank 1 always 4. Mean of the later one: 4.5; means: 3 and 4.
  EXPECT_NEAR(epoch.ranks[0][State::wait], 15, kExact);
  EXPECT_NEAR(epoch.ranks[1][State::wait], 5, kExact);
  EXPECT_NEAR(epoch.wait_jitter, 10 * (4.5 - 4), kExact);
  EXPECT_EQ(epoch.laggard.rank, 0) << "ties go to the lower rank";
  EXPECT_EQ(epoch.laggard.share, 0.5);
  const double mean_wait = (15 + 5) / 2.0;
  EXPECT_NEAR(mean_wait - epoch.wait_jitter, 10 * (4 - 3.5), kExact) << "static, by the formula";
}

/// Mean over ranks.
double mean_wait(const EpochStates& epoch) {
  double sum = 0;
  for (const States& states : epoch.ranks) sum += states[State::wait];
  return sum / static_cast<double>(epoch.ranks.size());
}

TEST(WaitJitter, RanksThatTakeTurnsStepByStepAreJitter) {
  const EpochStates epoch =
      attribute(lockstep(640, 2, [](int step, int rank) { return step % 2 == rank ? 1.5 : 1.0; }));
  EXPECT_NEAR(epoch.wait_jitter, mean_wait(epoch), 1e-6);
  const EpochStates rest =
      attribute(lockstep(630, 3, [](int step, int rank) { return step % 3 == rank ? 1.5 : 1.0; }));
  EXPECT_NEAR(rest.wait_jitter, mean_wait(rest), 1e-6);
}

TEST(WaitJitter, ChanceAloneIsNotStatic) {
  std::mt19937 random(3);
  std::exponential_distribution<double> late(1);
  constexpr int kSteps = 320;
  for (const int ranks : {2, 8}) {
    double jitter = 0, wait = 0;
    for (int round = 0; round < 10; ++round) {
      std::vector<double> drawn(static_cast<std::size_t>(kSteps * ranks));
      std::ranges::generate(drawn, [&] { return late(random); });
      const EpochStates epoch = attribute(lockstep(kSteps, ranks, [&](int step, int rank) {
        return drawn[static_cast<std::size_t>(step * ranks + rank)];
      }));
      jitter += epoch.wait_jitter;
      wait += mean_wait(epoch);
      EXPECT_LE(epoch.wait_jitter, mean_wait(epoch) + kExact);
    }
    EXPECT_NEAR(jitter / wait, 1, 0.05) << ranks;
  }
}

TEST(WaitJitter, PartsARankThatIsLateFromChance) {
  // Rank 0 is late by far, and nobody waits for what the others differ by.
  std::mt19937 random(3);
  std::uniform_real_distribution<double> late(0, 0.1);
  std::vector<double> drawn(3 * 320);
  std::ranges::generate(drawn, [&] { return late(random); });
  const EpochStates epoch = attribute(lockstep(320, 3, [&](int step, int rank) {
    return (rank == 0 ? 1.0 : 0.0) + drawn[static_cast<std::size_t>(3 * step + rank)];
  }));
  EXPECT_NEAR(epoch.wait_jitter, 0, kExact);
  EXPECT_GT(mean_wait(epoch), 0.6 * 320);
}

TEST(WaitJitter, CutsAreBetweenWholeSteps) {
  std::vector<double> arrivals(4 * 100);
  std::iota(arrivals.begin(), arrivals.end(), 1.0);
  const std::vector<double> cuts = cuts_between_steps(arrivals, 100);
  EXPECT_EQ(cuts.size(), 99U);
  EXPECT_EQ(cuts[0], 4);
  EXPECT_TRUE(cuts_between_steps({}, 100).empty());
  // Fewer than steps: each is one.
  EXPECT_EQ(cuts_between_steps(std::span(arrivals).first(10), 100).size(), 9U);
}

TEST(Attribution, AStepsLaggardIsWhoKeptTheOthersWaitingLongest) {
  RankTrace early = one_step(4, 9);
  RankTrace late = one_step(7, 9);
  // After the first collective both come together, and the last one says nothing.
  early.exchanges.push_back({Exchange::collective, 9.2, 9.5});
  late.exchanges.push_back({Exchange::collective, 9.1, 9.5});
  EXPECT_EQ(attribute({{early, late}}).laggard.rank, 1);
}

TEST(Attribution, SumsToTheEpochWhateverHappened) {
  std::mt19937 random(1);
  const auto draw = [&](double low, double high) {
    return std::uniform_real_distribution(low, high)(random);
  };
  for (int round = 0; round < 200; ++round) {
    const auto collectives = static_cast<std::size_t>(draw(0, 40));
    std::vector<RankTrace> traces(1 + static_cast<std::size_t>(draw(0, 5)));
    for (RankTrace& trace : traces) {
      trace.begin = draw(0, 1);
      trace.end = draw(20, 30);
      for (int i = 0; i < 60; ++i) {
        // Some before the begin and after the end.
        trace.phases.push_back({draw(-1, 32), static_cast<Phase>(random() % kPhases)});
        if (i % 4 == 0) trace.steps.push_back(draw(0, 20));
      }
      std::ranges::sort(trace.phases, {}, &PhaseStart::at);
      std::ranges::sort(trace.steps);
      for (std::size_t i = 0; i < collectives; ++i) {
        const double posted = draw(0, 28);
        trace.exchanges.push_back({Exchange::collective, posted, posted + draw(0, 9)});
        if (i % 3 == 0) trace.exchanges.push_back({Exchange::wait, posted, posted + draw(0, 2)});
        if (i % 3 == 1) trace.exchanges.push_back({Exchange::transfer, posted, posted});
      }
    }
    const EpochStates epoch = attribute(traces);
    for (std::size_t rank = 0; rank < traces.size(); ++rank) {
      const States& states = epoch.ranks[rank];
      EXPECT_NEAR(states.total(), epoch.seconds, kExact);
      for (const double seconds : states.seconds) EXPECT_GE(seconds, -kExact);
      EXPECT_LE(states.hidden, states[State::compute] + kExact);
      const std::vector<double>& waits = epoch.waits[rank];
      EXPECT_NEAR(std::accumulate(waits.begin(), waits.end(), 0.0), states[State::wait], kExact);
    }
  }
}

}  // namespace
}  // namespace scalebench
