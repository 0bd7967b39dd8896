// SPDX-License-Identifier: Apache-2.0
// Nights that never were, for the gate's simulations: noise of night, round, launch and repetition,
// nights that resemble the one before, an accepted build beside, and what happens to some cells.
// Seeded: seeds up to 99 are for setting thresholds, the reported table uses those from 1000 on.
// And a few nights without chance, for what the gate says of one cell.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "bench/measure/statistics.hpp"
#include "bench/study/nightly/gate.hpp"
#include "bench/study/nightly/history.hpp"
#include "bench/study/nightly/memory.hpp"

namespace scalebench {

struct Noise {
  double night = 0.01;
  double launch = 0.01;
  double repetition = 0.01;
  double slow_share = 0.03;  // of launches
  double slow = 0.10;        // at most
  double unlike = 0;         // sd of ln noise over cells
  double phi = 0;            // correlation of a night's noise with that of the night before
  double host = 0;           // noise of a night that all cells share
  double round = 0;          // noise of a round that both builds' launches of a cell share
  bool heavy = false;        // a night's own noise is Student's t of 3, of that deviation
  double slow_nights = 0;    // of a cell: the share in which it is 20 % slower, and so is its rerun
};

class MadeUpNights {
 public:
  /// `rounds`: launches of a cell in a night, and rounds beside the accepted build from night
  /// `beside_from` on; none without it.
  MadeUpNights(std::uint64_t seed, std::size_t cells, std::size_t nights, Noise noise = {},
               std::size_t rounds = 5, std::optional<std::size_t> beside_from = std::nullopt)
      : random_(seed), noise_(noise), rounds_(rounds), set_(nights), controls_(nights) {
    std::vector<double> host;
    for (std::size_t k = 0; k < nights; ++k) host.push_back(gauss(noise_.host));
    for (std::size_t c = 0; beside_from && c < cells; ++c) {
      controls_.add_cell().family = "seconds/bandwidth";
    }
    for (std::size_t c = 0; c < cells; ++c) {
      GateSeries& cell = set_.add_cell();
      cell.family = "seconds/bandwidth";
      cell.launches = rounds;
      times_ = std::exp(gauss(noise_.unlike));
      double slow_part = gauss(noise_.night);
      for (std::size_t k = 0; k < nights; ++k) {
        slow_part = noise_.phi * slow_part + std::sqrt(1 - noise_.phi * noise_.phi) * of_a_night();
        const double night = host[k] + slow_part * times_ + late_night();
        if (beside_from && k >= *beside_from) {
          add_beside(c, k, night);
        } else {
          cell.y[k] = -median_of(launches(night, rounds_));
        }
        // The same night's luck, fresh launches.
        cell.rerun[k] = -median_of(launches(night, rounds_));
      }
    }
  }

  GateSeriesSet& set() { return set_; }

  /// Speed of one cell from a night on, as a relative change; the accepted build's is not touched.
  void change(std::size_t cell, std::size_t from, double relative) {
    GateSeries& its = set_.cells[cell];
    for (std::size_t k = from; k < its.y.size(); ++k) {
      its.y[k] += std::log1p(relative);
      its.rerun[k] += std::log1p(relative);
      for (double& round : its.beside[k].sweep) round += std::log1p(relative);
      for (double& round : its.beside[k].rerun) round += std::log1p(relative);
    }
  }
  /// Speed of one cell from a night on, in the accepted build too, as a library upgrade does it.
  void change_both(std::size_t cell, std::size_t from, double relative) {
    for (GateSeries* const its : {&set_.cells[cell], &controls_.cells[cell]}) {
      for (std::size_t k = from; k < its->y.size(); ++k) {
        its->y[k] += std::log1p(relative);
        its->rerun[k] += std::log1p(relative);
      }
    }
  }
  /// All that ran in one night, the accepted build too.
  void shift_host(std::size_t night, double relative) {
    for (GateSeriesSet* const set : {&set_, &controls_}) {
      for (GateSeries& cell : set->cells) {
        cell.y[night] += std::log1p(relative);
        cell.rerun[night] += std::log1p(relative);
      }
    }
  }
  NightMemory memory() { return NightMemory(set_, controls_); }
  /// The accepted build's own cells, as the gate judges them.
  NightMemory memory_of_controls() { return NightMemory(controls_, GateSeriesSet(set_.nights)); }

 private:
  double gauss(double sigma) { return sigma > 0 ? sigma * normal_(random_) : 0; }
  double of_a_night() {
    const double value = gauss(noise_.night);
    if (!noise_.heavy) return value;
    double squares = 0;
    for (int i = 0; i < 3; ++i) squares += std::pow(gauss(1), 2);
    return value / std::sqrt(squares);
  }
  double late_night() {
    if (noise_.slow_nights <= 0) return 0;
    return uniform_(random_) < noise_.slow_nights ? std::log(1.2) : 0;
  }
  /// ln seconds of a launch of twenty repetitions, whose median is drawn at once.
  double launch(double night) {
    const bool slow = uniform_(random_) < noise_.slow_share;
    const double late = slow ? noise_.slow * uniform_(random_) : 0;
    const double repetitions = gauss(noise_.repetition * 1.25 / std::sqrt(20.0));
    return night + (gauss(noise_.launch) + repetitions) * times_ + std::log1p(late);
  }
  std::vector<double> launches(double night, std::size_t count) {
    std::vector<double> values;
    for (std::size_t i = 0; i < count; ++i) {
      values.push_back(launch(night + gauss(noise_.round) * times_));
    }
    return values;
  }
  void add_beside(std::size_t c, std::size_t k, double night) {
    GateSeries& cell = set_.cells[c];
    set_.build[k] = 1;
    const auto both = [&](std::vector<double>& ratios, double& accepted) {
      std::vector<double> as, bs;
      for (std::size_t i = 0; i < rounds_; ++i) {
        const double round = night + gauss(noise_.round) * times_;
        as.push_back(launch(round));
        bs.push_back(launch(round));
        ratios.push_back(as.back() - bs.back());
      }
      accepted = -median_of(as);
      return -median_of(bs);
    };
    cell.y[k] = both(cell.beside[k].sweep, controls_.cells[c].y[k]);
    both(cell.beside[k].rerun, controls_.cells[c].rerun[k]);
  }

  std::mt19937_64 random_;
  Noise noise_;
  std::size_t rounds_;
  double times_ = 1;
  std::normal_distribution<double> normal_{0, 1};
  std::uniform_real_distribution<double> uniform_{0, 1};
  GateSeriesSet set_, controls_;
};

// Nights of January 2026, in which cells take 1, 2, .. seconds.

inline constexpr std::size_t kNightCells = 12;

/// A wobble of about 1 % that is another one for each cell and night.
inline double wobble(std::size_t cell, std::size_t night) {
  return 0.01 * std::sin(static_cast<double>(7 * cell + 1) * static_cast<double>(night + 3));
}

inline NightCell cell_of(std::size_t number, double seconds) {
  NightCell cell;
  cell.key = fmt::format("allreduce/{:012x}/2/seconds", number);
  cell.label = fmt::format("allreduce ring {} KiB N=2", 64 << number);
  cell.bench = "allreduce";
  cell.family = "bandwidth";
  cell.origin = "measured";
  cell.ranks = "2";
  cell.value = seconds;
  cell.launches = {seconds, seconds, seconds};
  return cell;
}

inline std::string run_id(std::size_t night) {
  return fmt::format("202601{:02}T030000Z-nightly-000000", night + 1);
}

/// `times`: of every cell's usual time.
inline Night night_of(std::size_t night, double times = 1) {
  Night made{run_id(night), fmt::format("2026-01-{:02}T03:00:00Z", night + 1), {}};
  for (std::size_t c = 0; c < kNightCells; ++c) {
    made.cells.push_back(cell_of(c, static_cast<double>(c + 1) * (1 + wobble(c, night)) * times));
  }
  return made;
}

/// `nights` nights; the last of them is tonight.
inline GateInput input_of(std::size_t nights) {
  GateInput input;
  for (std::size_t k = 0; k + 1 < nights; ++k) {
    input.history.nights.push_back(night_of(k));
    input.history.started[run_id(k)] = input.history.nights.back().started_utc;
  }
  input.tonight = night_of(nights - 1);
  return input;
}

}  // namespace scalebench
