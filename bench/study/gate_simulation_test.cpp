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
#include "bench/study/drift.hpp"
#include "bench/study/self_check.hpp"

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
    set_.usable.assign(nights, 1);
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
};

/// Gates every night from `first` on.
Counts gated(const GateSeriesSet& set, std::size_t first, bool with_drift = false) {
  Counts counts;
  for (std::size_t night = first; night < set.nights(); ++night) {
    const NightTest test = test_night(set, baseline_of(set, night), night);
    ++counts.nights;
    counts.host_alarms += test.host_alarm() ? 1 : 0;
    for (const CellTest& cell : test.cells) {
      counts.worse += cell.signal == Signal::worse ? 1 : 0;
      counts.better += cell.signal == Signal::better ? 1 : 0;
      counts.agreed += cell.rerun == Agreement::agrees ? 1 : 0;
    }
    if (!with_drift) continue;
    const std::vector<double> shift = host_series(set, night);
    for (const GateSeries& cell : set.cells) {
      counts.drifts += drift_of(cell, set.usable, night, shift).found ? 1 : 0;
    }
  }
  return counts;
}

TEST(GateSimulation, ExploreFalseAlarms) {
  for (const auto& [name, noise] :
       std::vector<std::pair<const char*, Noise>>{{"quiet", {.003, .005, .005, .02, .05}},
                                                  {"typical", {}},
                                                  {"unlike", {.01, .01, .01, .03, .1, .5}},
                                                  {"noisy", {.02, .03, .02, .05, .2}}}) {
    for (const std::size_t cells : {5UL, 20UL, 200UL}) {
      Counts sum;
      const int seeds = cells == 200 ? 12 : 30;
      for (int seed = 1; seed <= seeds; ++seed) {
        Nights nights(static_cast<std::uint64_t>(seed), cells, 60, noise);
        const Counts c = gated(nights.set(), 8, true);
        sum.worse += c.worse;
        sum.agreed += c.agreed;
        sum.better += c.better;
        sum.drifts += c.drifts;
        sum.host_alarms += c.host_alarms;
        sum.nights += c.nights;
      }
      fmt::print(
          "{:8} {:4} cells, {} nights: a night worse {:.4f} agreed {:.4f} better {:.4f} drift "
          "{:.4f} host {:.4f}\n",
          name, cells, sum.nights, sum.worse / sum.nights, sum.agreed / sum.nights,
          sum.better / sum.nights, sum.drifts / sum.nights, sum.host_alarms / sum.nights);
    }
  }
}

TEST(GateSimulation, ExploreDetection) {
  for (const std::size_t changed : {1UL, 5UL, 10UL, 20UL, 40UL}) {
    for (const double drop : {-0.05, -0.10}) {
      double found = 0, agreed = 0, all = 0;
      for (int seed = 1; seed <= 60; ++seed) {
        Nights nights(static_cast<std::uint64_t>(seed), 200, 30);
        for (std::size_t c = 0; c < changed; ++c) nights.change(c, 29, drop);
        const NightTest test = test_night(nights.set(), baseline_of(nights.set(), 29), 29);
        for (std::size_t c = 0; c < changed; ++c) {
          ++all;
          found += test.cells[c].signal == Signal::worse ? 1 : 0;
          agreed += test.cells[c].rerun == Agreement::agrees ? 1 : 0;
        }
      }
      fmt::print("{} cells {:.0f} %: found {:.3f} agreed {:.3f}\n", changed, 100 * drop,
                 found / all, agreed / all);
    }
  }
}

}  // namespace
}  // namespace scalebench
