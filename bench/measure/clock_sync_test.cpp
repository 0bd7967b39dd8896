// SPDX-License-Identifier: Apache-2.0
// Every thread pretends to be a host whose clock is off and drifts. The true time is a counter that
// each look at any clock moves on, so that nothing here depends on how threads are scheduled.
#include "bench/measure/clock_sync.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <functional>
#include <random>
#include <thread>

#include "collectives/control.hpp"
#include "collectives/transport/thread_ranks_test.hpp"

namespace scalebench {
namespace {

TEST(WithItsTime, ReadsAgainWhatTookTooLong) {
  int reads = 0;
  const auto [value, at] = with_its_time(1, [&] {
    if (++reads == 1) std::this_thread::sleep_for(std::chrono::milliseconds(1100));
    return reads;
  });
  EXPECT_GE(value, 2);
  EXPECT_LE(at, local_seconds());
  EXPECT_EQ(with_its_time(0, [&] { return ++reads; }).first, value + 5) << "not for ever";
}

/// The one true time of all hosts of a test.
class TrueTime {
 public:
  double look() { return 1e-6 * static_cast<double>(microseconds_.fetch_add(1)); }
  /// Now and a stretch later; no rank may look at the same time.
  void skip(double seconds) { microseconds_ += static_cast<long>(seconds * 1e6); }

 private:
  std::atomic<long> microseconds_{5'000'000};
};

double shown(double true_seconds, int rank, double drift) {
  return 3.7 * rank + true_seconds * (1 + drift * rank);
}

/// Ranks one to a host; the largest disagreement with rank 0 `later` seconds after synchronising.
void expect_agreement(int ranks, double drift, double later, double tolerance, int cells) {
  TrueTime time;
  run_ranks(
      ranks,
      [&](Communicator& host) {
        double frozen = -1;
        GlobalClock clock(
            host, [&] { return shown(frozen >= 0 ? frozen : time.look(), host.rank(), drift); });
        for (int cell = 1; cell < cells; ++cell) {
          host.barrier();
          if (host.rank() == 0) time.skip(0.5);
          host.barrier();
          clock.synchronise();
        }
        host.barrier();
        frozen = host.rank() == 0 ? time.look() + later : 0;
        broadcast(host, span_of(std::span(&frozen, 1)), 0);
        EXPECT_NEAR(clock.now(), shown(frozen, 0, drift), clock.residual_seconds() + tolerance)
            << "rank " << host.rank() << " of " << ranks;
        EXPECT_GT(clock.residual_seconds(), 0);
        EXPECT_EQ(all_gather(host, clock.residual_seconds())[0], clock.residual_seconds());
      },
      SendMode::rendezvous, 1);
}

TEST(GlobalClock, KeepsUpWhereItWasSynchronisedHalfASecondAgo) {
  TrueTime time;
  run_ranks(
      3,
      [&](Communicator& host) {
        GlobalClock clock(host, [&] { return shown(time.look(), host.rank(), 50e-6); });
        const auto later = [&](double seconds) {
          host.barrier();
          if (host.rank() == 0) time.skip(seconds);
          host.barrier();
          return clock.keep_up();
        };
        EXPECT_FALSE(later(0.3));
        const double anchor = clock.model().anchor;
        EXPECT_TRUE(later(0.3));
        if (host.rank() > 0) {
          EXPECT_GT(clock.model().anchor, anchor);
        }
        EXPECT_FALSE(later(0.1)) << "counts from the last time";
      },
      SendMode::rendezvous, 1);
  run_ranks(2, [](Communicator& host) {
    double now = 0;
    GlobalClock clock(host, [&] { return now; });
    now = 10;
    EXPECT_FALSE(clock.keep_up()) << "one host";
  });
}

TEST(GlobalClock, FollowsAnOffset) { expect_agreement(2, 50e-6, 0, 1e-6, 1); }

// 50 ppm are 5 ms in 100 s.
TEST(GlobalClock, FollowsADrift) { expect_agreement(2, 50e-6, 100, 5e-4, 1); }

TEST(GlobalClock, PassesTheTimeOnFromHostToHost) {
  for (const int ranks : {3, 4, 7}) expect_agreement(ranks, 50e-6, 0, 1e-4, 1);
}

TEST(GlobalClock, KeepsFollowingFromCellToCell) { expect_agreement(3, 50e-6, 1, 1e-4, 15); }

TEST(GlobalClock, NeedsNoMessageOnOneHost) {
  run_ranks(3, [](Communicator& host) {
    GlobalClock clock(host, [] { return 42.0; });
    clock.synchronise();
    EXPECT_EQ(clock.now(), 42.0);
    EXPECT_EQ(clock.residual_seconds(), 0);
  });
}

TEST(GlobalClock, SharesAHostsClockAmongItsRanks) {
  TrueTime time;
  run_ranks(
      4,
      [&](Communicator& host) {
        double frozen = -1;
        const int node = host.rank() / 2;
        GlobalClock clock(host,
                          [&] { return shown(frozen >= 0 ? frozen : time.look(), node, 1e-4); });
        host.barrier();
        frozen = host.rank() == 0 ? time.look() : 0;
        broadcast(host, span_of(std::span(&frozen, 1)), 0);
        EXPECT_NEAR(clock.now(), frozen, clock.residual_seconds() + 1e-6);
        const auto all = all_gather(host, clock.now());
        EXPECT_EQ(all[2], all[3]) << "ranks of one host hold the same model";
      },
      SendMode::rendezvous, 2);
}

TEST(ClockFit, FindsTheLineAndBelievesCertainPointsMore) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> noise(-1, 1);
  std::vector<ClockPoint> points;
  for (int i = 0; i < 40; ++i) {
    const double local = 1000 + 0.1 * i;
    // Every fourth round trip was held up, and the answer lies anywhere in it.
    const double half_round = i % 4 == 0 ? 1e-3 : 1e-6;
    const double offset = 2.5 + 30e-6 * (local - 1000) + half_round * noise(random);
    points.push_back({local, offset, half_round});
  }
  const ClockModel model = fit_clock(points);
  EXPECT_NEAR(model.slope, 30e-6, 2e-6);
  EXPECT_NEAR(model.global_of(1005), 1005 + 2.5 + 5 * 30e-6, 3e-6);
  EXPECT_LT(model.residual, 1e-5);
}

TEST(ClockFit, ClaimsNoDriftFromOneInstant) {
  const ClockModel model = fit_clock(std::vector<ClockPoint>(5, {10, 1, 1e-6}));
  EXPECT_EQ(model.slope, 0);
  EXPECT_NEAR(model.global_of(10), 11, 1e-12);
  EXPECT_NEAR(model.residual, 1e-6, 1e-12);
}

// What another clock shows when this one shows t, and how well a bridge follows it.

using Offset = std::function<double(double local)>;

/// 20 answers within 0.4 s around `at`, each anywhere in its round trip.
ClockModel followed(const Offset& offset, double at, std::mt19937_64& random) {
  constexpr double kHalfRound = 20e-6;
  std::uniform_real_distribution<double> noise(-0.2, 0.2);
  std::vector<ClockPoint> points;
  for (int i = 0; i < 20; ++i) {
    const double local = at + 0.02 * (i - 10);
    points.push_back({local, offset(local) + kHalfRound * noise(random), kHalfRound});
  }
  return fit_clock(points);
}

/// From 100 s on, for so long.
ClockBridge bridge_over(const Offset& offset, double seconds) {
  std::mt19937_64 random(5);
  const ClockModel before = followed(offset, 100, random);
  return {before, followed(offset, 100 + seconds, random)};
}

/// The largest error from end to end.
double error_of(const ClockBridge& bridge, const Offset& offset, double seconds) {
  double most = 0;
  for (int i = 0; i <= 1000; ++i) {
    const double at = 100 + seconds * i / 1000;
    most = std::max(most, std::abs(bridge.global_of(at) - at - offset(at)));
  }
  return most;
}

TEST(ClockBridge, FollowsOffsetAndDrift) {
  for (const double seconds : {1.0, 30.0, 300.0}) {
    for (const double drift : {0.0, 50e-6, -300e-6}) {
      const Offset offset = [&](double at) { return 3600 + drift * at; };
      const ClockBridge bridge = bridge_over(offset, seconds);
      EXPECT_LE(error_of(bridge, offset, seconds), 20e-6);
      EXPECT_LE(error_of(bridge, offset, seconds), bridge.residual_seconds());
      EXPECT_NEAR(bridge.drift(), -drift, 20e-6 / seconds + 1e-3 * std::abs(drift));
    }
  }
}

TEST(ClockBridge, KnowsHowWrongAChangeOfDriftMayMakeIt) {
  // At once, somewhere in between, and slowly: from 0 to so much.
  for (const double change : {20e-6, -100e-6}) {
    for (const double turn : {0.1, 0.5, 0.9}) {
      const Offset offset = [&](double at) { return change * std::max(0.0, at - 100 - 60 * turn); };
      const ClockBridge bridge = bridge_over(offset, 60);
      EXPECT_GT(error_of(bridge, offset, 60), 0.08 * 60 * std::abs(change));
      EXPECT_LE(error_of(bridge, offset, 60), bridge.residual_seconds());
    }
    const Offset slowly = [&](double at) { return change * (at - 100) * (at - 100) / 120; };
    const ClockBridge bridge = bridge_over(slowly, 60);
    EXPECT_NEAR(error_of(bridge, slowly, 60), 60 * std::abs(change) / 8, 30e-6);
    EXPECT_LE(error_of(bridge, slowly, 60), bridge.residual_seconds());
  }
}

TEST(ClockBridge, KnowsHowWrongAClockThatStoodStillMayMakeIt) {
  for (const double jump : {0.01, -0.01, 20.0, -20.0}) {
    const Offset offset = [&](double at) { return 50e-6 * at + (at > 130 ? jump : 0); };
    const ClockBridge bridge = bridge_over(offset, 60);
    EXPECT_GT(error_of(bridge, offset, 60), 0.49 * std::abs(jump));
    EXPECT_LE(error_of(bridge, offset, 60), 1.001 * bridge.residual_seconds()) << jump;
  }
}

TEST(ClockBridge, IsExactOnOneHost) {
  const ClockBridge same{ClockModel(), ClockModel()};
  EXPECT_EQ(same.global_of(42.5), 42.5);
  EXPECT_EQ(same.residual_seconds(), 0);
  EXPECT_EQ(same.drift(), 0);
}

TEST(ClockBridge, PutsAllHostsOnTheClockOfTheFirst) {
  TrueTime time;
  constexpr double kDrift = 200e-6;
  run_ranks(
      4,
      [&](Communicator& host) {
        const auto look = [&] { return shown(time.look(), host.rank(), kDrift); };
        const ClockModel before = GlobalClock(host, look).model();
        host.barrier();
        if (host.rank() == 0) time.skip(20);
        host.barrier();
        const ClockBridge bridge(before, GlobalClock(host, look).model());
        // Four ranks move the time on together while they ask, so hosts' answers are uncertain.
        EXPECT_NEAR(bridge.drift(), kDrift * host.rank(), 1e-5);
        const double between = 15;
        EXPECT_NEAR(bridge.global_of(shown(between, host.rank(), kDrift)), shown(between, 0, 0),
                    bridge.residual_seconds() + 1e-6);
        if (host.rank() > 0) {
          EXPECT_GT(bridge.residual_seconds(), 0);
        }
      },
      SendMode::rendezvous, 1);
}

}  // namespace
}  // namespace scalebench
