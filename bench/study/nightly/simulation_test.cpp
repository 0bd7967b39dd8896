// SPDX-License-Identifier: Apache-2.0
// How often the two rules are wrong, on made-up nights. The tables of docs/nightly.md are
//   SCALEBENCH_SEEDS=all nightly_test --gtest_filter='Simulation.*'
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "bench/study/nightly/rules.hpp"

namespace scalebench {
namespace {

using Random = std::mt19937_64;
constexpr int kCells = 50;

enum class Noise { normal_1, alike, normal_3, student, outliers };

/// Of the logarithm of a time; `before`: of the same cell.
double drawn(Noise noise, Random& random, double& before) {
  std::normal_distribution<double> normal(0, 0.01);
  switch (noise) {
    case Noise::alike:
      return before = 0.7 * before + normal(random);
    case Noise::normal_3:
      return 3 * normal(random);
    case Noise::student:
      return 0.02 * std::student_t_distribution<double>(3)(random);
    case Noise::outliers:
      return normal(random) + (random() % 20 == 0 ? std::log(1.2) : 0);
    case Noise::normal_1:
      break;
  }
  return normal(random);
}

const char* name_of(Noise noise) {
  constexpr const char* kNames[]{"normal 1 %", "alike, phi 0.7", "normal 3 %", "Student's t",
                                 "one in 20 is 20 % slow"};
  return kNames[static_cast<int>(noise)];
}

bool all_seeds() { return std::getenv("SCALEBENCH_SEEDS") != nullptr; }

/// `found_share`: in one cell, or in all of them.
struct Rates {
  double false_alarms = 0;  // cells a night
  double found = 0;
};

CellSamples rounds(Noise noise, Random& random, int count, double slower) {
  CellSamples samples;
  samples.paired = true;
  double before = 0;
  for (int i = 0; i < count; ++i) {
    samples.a.push_back(std::exp(drawn(noise, random, before)));
    samples.b.push_back(std::exp(drawn(noise, random, before)) * slower);
  }
  return samples;
}

/// Nights of two builds, of which tonight's is `slower` in the first cell.
Rates build_rates(Noise noise, int count, double slower, int nights) {
  Random random(static_cast<std::uint64_t>(count) + 1);
  Rates rates;
  for (int night = 0; night < nights; ++night) {
    std::vector<BuildRounds> cells;
    const auto of = [&](int cell) { return cell == 0 ? slower : 1.0; };
    for (int i = 0; i < kCells; ++i) cells.push_back({rounds(noise, random, count, of(i)), {}});
    const std::vector<BuildCell> sweep = judge_build(cells);
    for (int i = 0; i < kCells; ++i) {
      const auto place = static_cast<std::size_t>(i);
      if (sweep[place].suspect) cells[place].again = rounds(noise, random, count, of(i));
    }
    const std::vector<BuildCell> judged = judge_build(cells);
    for (std::size_t i = 0; i < judged.size(); ++i) {
      const bool is_slow = i == 0 && slower > 1;
      (is_slow ? rates.found : rates.false_alarms) += judged[i].word == "SLOWER" ? 1 : 0;
    }
  }
  return {rates.false_alarms / nights, rates.found / nights};
}

TEST(Simulation, OfTheBuild) {
  const int nights = all_seeds() ? 400 : 40;
  for (const Noise noise : {Noise::normal_1, Noise::normal_3, Noise::student, Noise::outliers}) {
    for (const int count : {8, 12}) {
      const Rates none = build_rates(noise, count, 1, nights);
      const Rates little = build_rates(noise, count, 1.05, nights);
      const Rates much = build_rates(noise, count, 1.3, nights);
      if (all_seeds()) {
        fmt::print("| {} | {} | {:.3f} | {:.0f} % | {:.0f} % |\n", name_of(noise), count,
                   none.false_alarms, 100 * little.found, 100 * much.found);
      }
      EXPECT_LE(none.false_alarms, 0.1) << name_of(noise);
      EXPECT_GE(much.found, 0.95) << name_of(noise);
      if (noise == Noise::normal_1) {
        EXPECT_GE(little.found, 0.95);
      }
    }
  }
}

/// Nights of kCells cells as they are.
double machine_false_alarms(Noise noise, int nights) {
  constexpr int kBefore = 40;
  Random random(7);
  MachineNights past;
  std::vector<double> before(kCells, 0);
  double alarms = 0;
  for (int night = 0; night < kBefore + nights; ++night) {
    std::map<std::string, double> tonight;
    for (std::size_t i = 0; i < kCells; ++i) {
      tonight[std::to_string(i)] = std::exp(drawn(noise, random, before[i]));
    }
    const MachineTonight judged = judge_machine(past, tonight);
    for (const auto& [key, cell] : judged.cells) {
      past.cells[key].push_back(cell);
      alarms += night >= kBefore && cell.word == "MACHINE" ? 1 : 0;
    }
    past.together.push_back(judged.together);
  }
  return alarms / nights;
}

/// The share of cells that are found within `most` nights of which each `every`th is `slower`.
double machine_found(Noise noise, double slower, int every, int most, int cells) {
  constexpr int kBefore = 30;
  Random random(11);
  int found = 0;
  for (int cell = 0; cell < cells; ++cell) {
    MachineNights past;
    double before = 0;
    bool is_found = false;
    for (int night = 0; night < kBefore + most; ++night) {
      const bool is_slow = night >= kBefore && (night - kBefore) % every == 0;
      const double seconds = std::exp(drawn(noise, random, before)) * (is_slow ? slower : 1);
      const MachineCell judged = judge_machine(past, {{"", seconds}}).cells.at("");
      past.cells[""].push_back(judged);
      is_found |= night >= kBefore && judged.word == "MACHINE";
    }
    found += is_found ? 1 : 0;
  }
  return static_cast<double>(found) / cells;
}

TEST(Simulation, OfTheMachine) {
  struct Expected {
    Noise noise;
    double false_alarms, ten, five, every_second;
  };
  // As docs/nightly.md has them.
  constexpr Expected kRows[]{{Noise::normal_1, 0, 1, 0.82, 1},
                             {Noise::alike, 0.012, 1, 0.63, 1},
                             {Noise::normal_3, 0.059, 0.97, 0.36, 0.78},
                             {Noise::student, 0.101, 0.99, 0.43, 0.93},
                             {Noise::outliers, 0.129, 1, 0.83, 1}};
  const int nights = all_seeds() ? 8000 : 400, cells = all_seeds() ? 4000 : 400;
  const double wide = all_seeds() ? 1 : 2;
  for (const auto& [noise, false_alarms, ten, five, every_second] : kRows) {
    const double alarms = machine_false_alarms(noise, nights);
    const double found[]{machine_found(noise, 1.1, 1, 6, cells),
                         machine_found(noise, 1.05, 1, 6, cells),
                         machine_found(noise, 1.1, 2, 20, cells)};
    if (all_seeds()) {
      fmt::print("| {} | {:.3f} | {:.0f} · {:.0f} % | {:.0f} % |\n", name_of(noise), alarms,
                 100 * found[0], 100 * found[1], 100 * found[2]);
    }
    EXPECT_NEAR(alarms, false_alarms, 0.02 * wide) << name_of(noise);
    EXPECT_NEAR(found[0], ten, 0.04 * wide) << name_of(noise);
    EXPECT_NEAR(found[1], five, 0.04 * wide) << name_of(noise);
    EXPECT_NEAR(found[2], every_second, 0.04 * wide) << name_of(noise);
  }
}

}  // namespace
}  // namespace scalebench
