// SPDX-License-Identifier: Apache-2.0
// Nights that never were, through the code that gates: how often nothing is called something, and
// what is found of what there is. Seeded: 200 cells, 60 nights, noise of night, launch and
// repetition of 1 % each, and now and then a slow launch. Printed figures are those in
// results/README.md.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "bench/measure/statistics.hpp"
#include "bench/study/nightly/detection.hpp"

namespace scalebench {
namespace {

struct Noise {
  double night = 0.01;
  double launch = 0.01;
  double repetition = 0.01;
  double slow_share = 0.03;  // of launches
  double slow = 0.10;        // at most
  double unlike = 0;         // sd of ln noise over cells
};

class Nights {
 public:
  Nights(std::uint64_t seed, std::size_t cells, std::size_t nights, Noise noise = {})
      : random_(seed), noise_(noise) {
    set_.rerun_shift.assign(nights, kNotMeasured);
    for (std::size_t c = 0; c < cells; ++c) {
      GateSeries& cell = set_.cells.emplace_back();
      cell.family = "seconds/bandwidth";
      cell.segment.assign(nights, 0);
      const double times = std::exp(gauss(noise_.unlike));
      for (std::size_t k = 0; k < nights; ++k) {
        const double night = gauss(noise_.night) * times;
        cell.y.push_back(value(night));
        // The same night's luck, fresh launches.
        cell.rerun.push_back(value(night));
      }
    }
  }
  GateSeriesSet& set() { return set_; }
  void change(std::size_t cell, std::size_t from, double relative) {
    GateSeries& its = set_.cells[cell];
    for (std::size_t k = from; k < its.y.size(); ++k) {
      its.y[k] += std::log1p(relative);
      its.rerun[k] += std::log1p(relative);
    }
  }
  void shift_host(std::size_t night, double relative) {
    for (GateSeries& cell : set_.cells) {
      cell.y[night] += std::log1p(relative);
      cell.rerun[night] += std::log1p(relative);
    }
  }

 private:
  double gauss(double sigma) { return sigma * normal_(random_); }
  /// A night of five launches of twenty repetitions. The median of twenty is drawn at once.
  double value(double night) {
    std::vector<double> launches;
    for (int i = 0; i < 5; ++i) {
      const bool slow = uniform_(random_) < noise_.slow_share;
      const double late = slow ? noise_.slow * uniform_(random_) : 0;
      const double median_of_repetitions = gauss(noise_.repetition * 1.25 / std::sqrt(20.0));
      launches.push_back(1 + night + gauss(noise_.launch) + median_of_repetitions + late);
    }
    return -std::log(median_of(launches));
  }

  std::mt19937_64 random_;
  Noise noise_;
  std::normal_distribution<double> normal_{0, 1};
  std::uniform_real_distribution<double> uniform_{0, 1};
  GateSeriesSet set_;
};

struct Counts {
  double worse = 0;   // before the rerun
  double agreed = 0;  // with it
  double better = 0;
  double drifts = 0;
  double host_alarms = 0;
  double nights = 0;

  Counts& operator+=(const Counts& other) {
    worse += other.worse;
    agreed += other.agreed;
    better += other.better;
    drifts += other.drifts;
    host_alarms += other.host_alarms;
    nights += other.nights;
    return *this;
  }
};

/// Gates every night that has enough before it.
Counts gated(const GateSeriesSet& set) {
  Counts counts;
  for (std::size_t night = kFewestNights; night < set.nights(); ++night) {
    const NightTest test = test_night(set, baseline_of(set, night), night);
    ++counts.nights;
    counts.host_alarms += test.host_alarm() ? 1 : 0;
    for (const CellTest& cell : test.cells) {
      counts.worse += cell.signal == Signal::worse ? 1 : 0;
      counts.better += cell.signal == Signal::better ? 1 : 0;
      counts.agreed += cell.rerun == Agreement::agrees ? 1 : 0;
    }
    const std::vector<double> shift = host_series(set, night);
    for (const GateSeries& cell : set.cells) {
      counts.drifts += drift_of(cell, night, shift).found ? 1 : 0;
    }
  }
  return counts;
}

constexpr std::size_t kCells = 200;
constexpr std::size_t kNights = 60;

/// All nights of some seeds, with what `change` does to each.
template <class Change>
Counts simulated(int seeds, Noise noise, std::size_t cells, Change change) {
  Counts sum;
  for (int seed = 1; seed <= seeds; ++seed) {
    Nights nights(static_cast<std::uint64_t>(seed), cells, kNights, noise);
    change(nights);
    sum += gated(nights.set());
  }
  return sum;
}

void print(const char* what, const Counts& counts) {
  fmt::print(
      "{}: {} nights; a night {:.3f} suspects, {:.3f} regressed, {:.3f} drifting, {:.3f} improved, "
      "{:.3f} host alarms\n",
      what, counts.nights, counts.worse / counts.nights, counts.agreed / counts.nights,
      counts.drifts / counts.nights, counts.better / counts.nights,
      counts.host_alarms / counts.nights);
}

double false_alarms(const Counts& counts) {
  return (counts.agreed + counts.drifts + counts.host_alarms) / counts.nights;
}

TEST(GateSimulation, GivesAtMostOneFalseAlarmInTwentyNights) {
  const Counts typical = simulated(10, {}, kCells, [](Nights&) {});
  print("1/1/1 %", typical);
  EXPECT_LE(false_alarms(typical), 0.05);
  // Nearly symmetric: a gate that only ever sees one direction is wrong about the noise.
  EXPECT_GT(typical.better + typical.worse, 0);
  const Counts quiet = simulated(4, {.003, .005, .005, .02, .05}, kCells, [](Nights&) {});
  print(".3/.5/.5 %", quiet);
  EXPECT_LE(false_alarms(quiet), 0.05);
  const Counts noisy = simulated(4, {.02, .03, .02, .05, .20}, kCells, [](Nights&) {});
  print("2/3/2 %", noisy);
  EXPECT_LE(false_alarms(noisy), 0.05);
}

TEST(GateSimulation, HoldsForAFewCellsToo) {
  const Counts few = simulated(30, {}, 6, [](Nights&) {});
  print("1/1/1 %, 6 cells", few);
  EXPECT_LE(false_alarms(few), 0.05);
}

/// The share of `changed` cells that are found on the first night of a drop: as a suspect, and
/// again in the rerun.
std::pair<double, double> found(std::size_t changed, double drop, Noise noise = {}) {
  constexpr std::size_t kNight = 29;
  double suspects = 0, agreed = 0, all = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Nights nights(seed, kCells, kNight + 1, noise);
    for (std::size_t c = 0; c < changed; ++c) nights.change(c, kNight, drop);
    const NightTest test = test_night(nights.set(), baseline_of(nights.set(), kNight), kNight);
    for (std::size_t c = 0; c < changed; ++c) {
      ++all;
      suspects += test.cells[c].signal == Signal::worse ? 1 : 0;
      agreed += test.cells[c].rerun == Agreement::agrees ? 1 : 0;
    }
  }
  fmt::print("{} of {} cells {:+.0f} %: {:.3f} suspects, {:.3f} regressed on the first night\n",
             changed, kCells, 100 * drop, suspects / all, agreed / all);
  return {suspects / all, agreed / all};
}

TEST(GateSimulation, FindsNineOfTenDropsOfFivePercentOnTheFirstNight) {
  const auto [suspects, agreed] = found(20, -0.05);  // one algorithm of ten
  EXPECT_GE(suspects, 0.90);
  EXPECT_GE(agreed, 0.90);
  // One cell alone has all others' chance to hide behind; its mde column says so.
  EXPECT_GE(found(1, -0.05).second, 0.60);
  EXPECT_GE(found(1, -0.10).second, 0.99);
}

TEST(GateSimulation, MakesOneAlarmOfAHostThatIsSlow) {
  const auto slow_now_and_then = [](Nights& nights) {
    for (std::size_t night = 9; night < kNights; night += 10) nights.shift_host(night, -0.06);
  };
  const Counts counts = simulated(5, {}, kCells, slow_now_and_then);
  print("host -6 % in one night of ten", counts);
  EXPECT_EQ(counts.host_alarms, 5 * 6);
  EXPECT_LE((counts.agreed + counts.drifts) / counts.nights, 0.05);
}

TEST(GateSimulation, FindsASlowDriftOfThreePercent) {
  constexpr std::size_t kFrom = 30;
  double delay = 0, found_drifts = 0, all = 0;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    Nights nights(seed, kCells, kNights);
    for (std::size_t c = 0; c < 20; ++c) nights.change(c, kFrom, -0.03);
    for (std::size_t c = 0; c < 20; ++c) {
      ++all;
      for (std::size_t night = kFrom; night < kNights; ++night) {
        const GateSeries& cell = nights.set().cells[c];
        const std::vector<double> none(kNights, 0.0);
        if (!drift_of(cell, night, none).found) continue;
        ++found_drifts;
        delay += static_cast<double>(night - kFrom);
        break;
      }
    }
  }
  fmt::print("drift of 3 %: {:.3f} of series found, after {:.1f} nights\n", found_drifts / all,
             delay / found_drifts);
  EXPECT_GE(found_drifts / all, 0.98);
  EXPECT_LE(delay / found_drifts, 8);
}

TEST(GateSimulation, StatesTheDropThatItWouldHaveFound) {
  Nights nights(1, kCells, 30);
  GateSeriesSet& set = nights.set();
  const NightBaseline baseline = baseline_of(set, 29);
  const std::vector<double> drops = smallest_drops(set, baseline, test_night(set, baseline, 29));
  for (std::size_t c = 0; c < kCells; c += 10) {
    for (const double times : {0.98, 1.02}) {
      GateSeriesSet changed = set;
      // Of the baseline, as the statement is; the common shift is that of the other cells.
      const double shift = common_shift(set, baseline, 29, 29).value;
      changed.cells[c].y[29] = baseline[c].level + shift + std::log1p(-drops[c] * times);
      const NightTest test = test_night(changed, baseline, 29);
      EXPECT_EQ(test.cells[c].signal == Signal::worse, times > 1) << c << " " << drops[c];
    }
  }
}

TEST(GateSimulation, ProvesItselfWithAnInjectedDrop) {
  Nights nights(1, kCells, 30);
  const NightBaseline baseline = baseline_of(nights.set(), 29);
  const NightTest test = test_night(nights.set(), baseline, 29);
  const std::vector<double> drops = smallest_drops(nights.set(), baseline, test);
  const InjectedCheck check = inject(nights.set(), baseline, test, drops, 29);
  EXPECT_EQ(check.tested, kCells);
  EXPECT_GE(check.caught, kCells - 2);
  EXPECT_TRUE(check.passed());
  // A gate that promises what it cannot keep is found out.
  Nights noisy(1, 10, 30, {.2, .1, .1, 0, 0});
  const NightBaseline wide = baseline_of(noisy.set(), 29);
  const NightTest blind = test_night(noisy.set(), wide, 29);
  const std::vector<double> promised(10, 0.03);
  EXPECT_FALSE(inject(noisy.set(), wide, blind, promised, 29).passed());
}

}  // namespace
}  // namespace scalebench
