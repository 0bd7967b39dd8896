// SPDX-License-Identifier: Apache-2.0
// Made-up epochs of hosts whose clocks are off, against the same epochs on the true clock.

#include "bench/training/epoch/account.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "bench/record/result_row.hpp"
#include "bench/training/epoch/measure.hpp"
#include "collectives/transport/thread_ranks_test.hpp"

namespace scalebench::account_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr double kBegin = 1000;
constexpr int kSteps = 100;

/// In true seconds: steps of 0.1 s, of which rank r computes 0.02 * (r + 1) and all exchange the
/// rest, from the last one's coming on.
RankTrace true_trace(int rank) {
  RankTrace trace{.begin = kBegin, .end = kBegin + 0.1 * kSteps};
  for (int step = 0; step < kSteps; ++step) {
    const double at = kBegin + 0.1 * step, ready = at + 0.02 * (rank + 1);
    trace.steps.push_back(at);
    trace.phases.push_back({at, Phase::forward});
    trace.phases.push_back({ready, Phase::sync});
    trace.exchanges.push_back({Exchange::collective, ready, at + 0.1});
  }
  return trace;
}

/// What rank r's clock shows, ranks one to a host.
using Clock = std::function<double(double true_seconds, int rank)>;

/// Followed within so many seconds of certainty, just before and after the epoch.
ClockModel followed(const Clock& clock, int rank, double at, double certain) {
  if (rank == 0) return {};
  std::vector<ClockPoint> points;
  for (int i = 0; i < 20; ++i) {
    const double now = at + 0.02 * i, local = clock(now, rank);
    points.push_back({local, clock(now, 0) - local, certain});
  }
  return fit_clock(points);
}

/// As all ranks come to it.
std::vector<EpochTimes> account(int ranks, const Clock& clock, double certain) {
  std::vector<EpochTimes> of_ranks(static_cast<std::size_t>(ranks));
  run_ranks(
      ranks,
      [&](Communicator& host) {
        const int rank = host.rank();
        const auto mine = on_clock(true_trace(rank), [&](double at) { return clock(at, rank); });
        const ClockBridge bridge(followed(clock, rank, kBegin - 0.5, certain),
                                 followed(clock, rank, kBegin + 0.1 * kSteps + 0.1, certain));
        of_ranks[static_cast<std::size_t>(rank)] = join_traces(host, mine, bridge);
      },
      SendMode::rendezvous, 1);
  return of_ranks;
}

double true_clock(double at, int) { return at; }

Clock drifting(double per_second) {
  return [=](double at, int rank) { return at + rank * (77 + per_second * (at - 900)); };
}

EpochRun run_of(const EpochTimes& times) {
  EpochRun run;
  run.epochs.push_back(EpochMeasurement{times});
  return run;
}

ResultRow row_of(const EpochTimes& times) {
  const EpochRun run = run_of(times);
  ResultRow row(epoch_schema());
  set_account(row, middle_of(run));
  return row;
}

std::string note_of(const EpochTimes& times) {
  const EpochRun run = run_of(times);
  return account_note(middle_of(run));
}

TEST(Account, IsThatOfTheTrueClockWithinWhatItSays) {
  const EpochTimes truth = account(3, true_clock, 1e-9)[0];
  EXPECT_NEAR(truth.ranks[0][State::wait], kSteps * 0.04, 1e-6);
  EXPECT_NEAR(truth.ranks[2][State::wait], 0, 1e-6);
  for (const double drift : {0.0, 200e-6, -2000e-6}) {
    const std::vector<EpochTimes> all = account(3, drifting(drift), 5e-6);
    const EpochTimes& times = all[0];
    EXPECT_EQ(times.account, Account::parted);
    EXPECT_GT(times.clock_residual_seconds, 0);
    EXPECT_NEAR(times.attribution_error_seconds, (kSteps + 1) * times.clock_residual_seconds, 1e-9);
    EXPECT_NEAR(times.seconds, truth.seconds, times.clock_residual_seconds);
    for (std::size_t rank = 0; rank < 3; ++rank) {
      const States& of = times.ranks[rank];
      EXPECT_NEAR(of.total(), times.seconds, 1e-9);
      for (const State state : {State::transfer, State::wait}) {
        EXPECT_NEAR(of[state], truth.ranks[rank][state], times.attribution_error_seconds)
            << "rank " << rank << ", drift " << drift;
      }
      EXPECT_EQ(all[rank].attribution_error_seconds, times.attribution_error_seconds);
    }
  }
}

TEST(Account, AClockFollowedBeforeTheEpochOnlyWouldBeWrong) {
  // So that the test above could fail: the drift changes as the epoch begins.
  const Clock clock = [](double at, int rank) {
    return at + rank * 500e-6 * std::max(0.0, at - kBegin);
  };
  const EpochTimes truth = account(2, true_clock, 1e-9)[0];
  const EpochTimes times = account(2, clock, 5e-6)[0];
  EXPECT_NEAR(times.seconds, truth.seconds, times.clock_residual_seconds);
  EXPECT_NEAR(times.ranks[0][State::wait], truth.ranks[0][State::wait],
              times.attribution_error_seconds);
  const ClockModel before = followed(clock, 1, kBegin - 0.5, 5e-6);
  const double end = kBegin + 0.1 * kSteps;
  EXPECT_GT(std::abs(before.global_of(clock(end, 1)) - end), 0.004);
}

TEST(Account, JoinsTransferAndWaitingWhereTheClocksMayMoveTooMuch) {
  // 10 s: a hundredth of it over 101 collectives and ends is about 1 ms.
  EXPECT_EQ(account(2, drifting(1e-5), 0.9e-3)[0].account, Account::parted);
  const EpochTimes times = account(2, drifting(1e-5), 1.1e-3)[0];
  EXPECT_EQ(times.account, Account::joined);
  const ResultRow row = row_of(times);
  for (const char* const column : {"wait_static_seconds", "wait_jitter_seconds", "last_rank"}) {
    EXPECT_EQ(row.get(column), "") << column;
  }
  const double sum = number_in(row, "transfer_seconds") + number_in(row, "compute_seconds") +
                     number_in(row, "input_seconds") + number_in(row, "evaluation_seconds");
  const double host = (times.ranks[0][State::host] + times.ranks[1][State::host]) / 2;
  EXPECT_NEAR(sum + host, times.seconds, 1e-9);
  EXPECT_THAT(note_of(times), HasSubstr("transfer and waiting are known together only"));
  EXPECT_THAT(where_it_went(times, true, false, {"a", "b", "c"}), HasSubstr("transfer and wait"));
}

/// Rank 2's clock jumps by so much in the third second.
Clock jumping(double jump) {
  return [=](double at, int rank) {
    return at + rank * 3 + (rank == 2 && at > kBegin + 3.33 ? jump : 0);
  };
}

TEST(Account, IsWrongByNoMoreThanTheJumpOfAClockThatItDoesNotRefuse) {
  const EpochTimes truth = account(3, true_clock, 1e-9)[0];
  for (const double jump : {0.19, 0.02, -0.19}) {
    const EpochTimes times = account(3, jumping(jump), 5e-6)[0];
    EXPECT_EQ(times.account, Account::joined);
    EXPECT_NEAR(times.seconds, truth.seconds, std::abs(jump) / 10);
    for (std::size_t rank = 0; rank < 3; ++rank) {
      EXPECT_NEAR(times.ranks[rank][State::compute], truth.ranks[rank][State::compute],
                  std::abs(jump));
    }
  }
}

TEST(Account, IsRefusedForAnEpochInWhichAClockJumped) {
  for (const double jump : {30.0, 5.0, -0.3, -5.0}) {
    const EpochTimes times = account(3, jumping(jump), 5e-6)[1];
    EXPECT_EQ(times.account, Account::refused);
    EXPECT_GE(times.clock_residual_seconds, std::abs(jump) / 2);
    const ResultRow row = row_of(times);
    const auto& columns = epoch_schema().columns;
    const std::size_t first =
        static_cast<std::size_t>(std::ranges::find(columns, "compute_seconds") - columns.begin());
    for (std::size_t i = first; i < columns.size(); ++i) {
      EXPECT_EQ(row.get(columns[i]), "") << columns[i];
    }
    EXPECT_THAT(note_of(times), HasSubstr("not known where the time went"));
    EXPECT_THAT(where_it_went(times, true, false, {"a", "b", "c"}), HasSubstr("not known"));
  }
}

TEST(Account, CallsWhatMovesBesideComputingHiddenOnDevicesAlone) {
  EpochMeasurement epoch{account(2, true_clock, 1e-9)[0]};
  for (States& states : epoch.ranks) states.hidden = 1;
  EXPECT_THAT(where_it_went(epoch, true, false, {"a", "b"}),
              HasSubstr("moving meanwhile, on the same cores 10.0 %"));
  EXPECT_THAT(where_it_went(epoch, false, false, {"a", "b"}),
              HasSubstr("hidden under compute 10.0 %"));
}

TEST(Account, CallsNoWaitingJitterWhereNoCollectiveTellsWhoWasLate) {
  run_ranks(2, [](Communicator& host) {
    // As between the parts of a model: each rank waits for the other again and again, equally long.
    RankTrace trace{.begin = kBegin, .end = kBegin + 0.1 * kSteps};
    for (int step = 0; step < kSteps; ++step) {
      const double at = kBegin + 0.1 * step;
      trace.steps.push_back(at);
      trace.phases.push_back({at, Phase::forward});
      trace.phases.push_back({at + 0.02, Phase::sync});
      trace.exchanges.push_back({Exchange::wait, at + 0.02, at + 0.1});
    }
    const EpochTimes times = join_traces(host, trace, ClockBridge());
    EXPECT_NEAR(times.ranks[0][State::wait], 0.08 * kSteps, 1e-9);
    EXPECT_EQ(times.wait_jitter, 0);
  });
}

TEST(Account, IsExactOnOneHost) {
  run_ranks(2, [&](Communicator& host) {
    const EpochTimes times = join_traces(host, true_trace(host.rank()), ClockBridge());
    EXPECT_EQ(times.account, Account::parted);
    EXPECT_EQ(times.clock_residual_seconds, 0);
    EXPECT_EQ(times.attribution_error_seconds, 0);
    EXPECT_NEAR(times.ranks[0][State::wait], kSteps * 0.02, 1e-9);
    const ResultRow row = row_of(times);
    EXPECT_EQ(row.get("last_rank"), "1");
    EXPECT_NEAR(number_in(row, "wait_static_seconds") + number_in(row, "wait_jitter_seconds"),
                kSteps * 0.01, 1e-9);
    EXPECT_THAT(note_of(times), IsEmpty());
  });
}

/// Four ranks that wait half of 100 s, one of them last in so many of 200 steps.
EpochMeasurement with_laggard(double times_last) {
  EpochTimes times;
  times.seconds = 100;
  times.ranks.resize(4);
  for (States& states : times.ranks) {
    states[State::compute] = states[State::wait] = 50;
  }
  times.laggard = {.rank = 2, .share = times_last / 200, .steps = 200};
  return EpochMeasurement{times};
}

TEST(WhereItWent, NamesARankOnlyWhereThatIsMoreThanChance) {
  const std::vector<std::string> hosts{"a", "b", "c", "d"};
  const auto line = [&](double times, bool oversubscribed) {
    return where_it_went(with_laggard(times), true, oversubscribed, hosts);
  };
  EXPECT_THAT(line(150, false), HasSubstr("wait 50.0 % (for rank 2 on c in 75 % of steps)"));
  // 50 are expected, with a standard deviation of 6: some rank has 65 now and then, none has 75.
  EXPECT_THAT(line(75, false), HasSubstr("for rank 2"));
  EXPECT_THAT(line(62, false), Not(HasSubstr("rank")));
  EXPECT_THAT(line(150, true), AllOf(HasSubstr("wait 50.0 %"), Not(HasSubstr("rank"))));
}

TEST(Laggard, OfFewStepsNeedsMore) {
  const auto stands_out = [](double last, double steps, std::size_t ranks) {
    return Laggard{.rank = 0, .share = last / steps, .steps = steps}.stands_out(ranks);
  };
  EXPECT_FALSE(stands_out(6, 6, 2)) << "2 / 64";
  EXPECT_TRUE(stands_out(8, 8, 2)) << "2 / 256";
  EXPECT_FALSE(stands_out(1, 1, 64)) << "somebody always is";
  EXPECT_FALSE(Laggard{}.stands_out(4));
}

/// Of equal ranks whose lateness remembers `phi` of that of the step before: in how many epochs of
/// 200 steps one stands out.
double named_of_equal_ranks(std::size_t ranks, double phi) {
  constexpr int kEpochs = 2000, kEpochSteps = 200;
  std::mt19937_64 random(3);
  std::normal_distribution<double> noise;
  double named = 0;
  for (int epoch = 0; epoch < kEpochs; ++epoch) {
    std::vector<double> late(ranks), last(ranks);
    for (double& of : late) of = noise(random);
    for (int step = 0; step < kEpochSteps; ++step) {
      for (double& of : late) of = phi * of + std::sqrt(1 - phi * phi) * noise(random);
      ++last[static_cast<std::size_t>(std::ranges::max_element(late) - late.begin())];
    }
    named += laggard_of(last).stands_out(ranks) ? 1 : 0;
  }
  return named / kEpochs;
}

// The numbers of docs/nodes.md. Printed.
TEST(Laggard, OfLatenessThatLastsIsNamedMoreOften) {
  for (const std::size_t ranks : {2U, 4U, 8U}) {
    const double none = named_of_equal_ranks(ranks, 0), some = named_of_equal_ranks(ranks, 0.5);
    const double much = named_of_equal_ranks(ranks, 0.9);
    fmt::print("{} ranks: {:.3f} by chance, {:.3f} and {:.3f} where 0.5 and 0.9 is remembered\n",
               ranks, none, some, much);
    EXPECT_LE(none, 0.015) << ranks;
    EXPECT_GT(some, none) << ranks;
    EXPECT_GT(much, 0.3) << ranks;
  }
}

}  // namespace
}  // namespace scalebench::account_test
