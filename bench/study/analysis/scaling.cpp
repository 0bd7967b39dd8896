// SPDX-License-Identifier: Apache-2.0
#include "bench/study/analysis/scaling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <map>
#include <string>
#include <tuple>

#include "bench/record/columns.hpp"
#include "bench/study/analysis/cells.hpp"
#include "kernels/error.hpp"

namespace scalebench {

Scaling scaling_of(double h, double samples_at_one, double t, double samples_at_n, int devices) {
  const bool possible = h > 0 && t > 0 && samples_at_one > 0 && samples_at_n > 0 && devices > 0;
  if (!possible) {
    fail("no speedup from H = {} s over {} samples and T = {} s over {} samples on {} devices", h,
         samples_at_one, t, samples_at_n, devices);
  }
  const double n = devices;
  Scaling scaling;
  scaling.rho = samples_at_n / samples_at_one;
  scaling.ideal_seconds = scaling.rho * h / n;
  scaling.speedup = scaling.rho * h / t;
  scaling.efficiency = scaling.ideal_seconds / t;
  scaling.karp_flatt = devices > 1 ? (1 / scaling.speedup - 1 / n) / (1 - 1 / n) : kNotKnown;
  scaling.lost_seconds = t - scaling.ideal_seconds;
  return scaling;
}

namespace {

/// The launches that a leg's numbers are of: of the rounds that it shares with one_device, or all
/// where they share none.
class Counted {
 public:
  Counted(const Cell& leg, const Cell& one) {
    const std::map<int, double> ones = one.seconds_by_round();
    for (const auto& [round, seconds] : leg.seconds_by_round()) {
      if (ones.contains(round)) rounds_.push_back(round);
    }
  }
  Sides sides() const { return rounds_.empty() ? Sides::apart : Sides::in_rounds; }
  std::size_t rounds() const { return rounds_.size(); }

  /// Its rows in those rounds; nothing where one of them lacks it.
  LaunchEpochs of(const Cell* cell) const {
    if (cell == nullptr) return {};
    std::map<int, const ResultRow*> its;
    LaunchEpochs found;
    for (const CellLaunch& launch : cell->launches) {
      if (launch.ok() && its.emplace(launch.round, &launch.row).second)
        found.push_back(&launch.row);
    }
    if (rounds_.empty()) return found;
    found.clear();
    for (const int round : rounds_) {
      if (!its.contains(round)) return {};
      found.push_back(its.at(round));
    }
    return found;
  }

 private:
  std::vector<int> rounds_;
};

LaunchInterval times(LaunchInterval interval, double factor) {
  return {factor * interval.value, factor * interval.low, factor * interval.high, interval.kind};
}

void scale(Leg& leg, const Cell& cell, const Bases& bases) {
  const Counted counted(cell, *bases.one);
  const Sides sides = counted.sides();
  const LaunchEpochs one = counted.of(bases.one), n = counted.of(&cell);
  if (one.empty() || n.empty()) return;
  const auto ratio = [&](const char* column) {
    return ratio_of_means(values_of(one, column), values_of(n, column), sides);
  };
  leg.rounds = leg.planned > 0 ? counted.rounds() : 0;
  leg.seconds = mean_of(values_of(n, "seconds"));
  leg.h_seconds = mean_of(values_of(one, "seconds")).value;
  leg.scaling = scaling_of(leg.h_seconds, number_in(bases.one->row, "samples"), leg.seconds.value,
                           number_in(leg.row, "samples"), ranks_of(leg.row));
  const double rho = leg.scaling.rho, part = rho / ranks_of(leg.row);
  leg.efficiency = times(ratio("seconds"), part);
  leg.interval = interval_label(leg.efficiency.kind, leg.rounds > 0 ? "rounds" : "launches");
  leg.statistical = ratio("epochs_to_target");
  leg.energy = times(ratio("joules"), rho);
  if (const LaunchEpochs raw = counted.of(bases.raw); !raw.empty()) {
    const double h = mean_of(values_of(raw, "seconds")).value;
    leg.raw = rho_of(leg.row, bases.raw->row) * h / ranks_of(leg.row) / leg.seconds.value;
  }
  if (ranks_of(leg.row) > 1) leg.losses = losses_of(n, one, counted.of(bases.share), part, sides);
  if (sides == Sides::apart) {
    leg.row.add_note("no round has both T(1) and T(N)");
  }
}

Leg leg_of(const Cell& cell, const std::vector<Cell>& epochs, std::size_t planned) {
  const ResultRow& row = cell.row;
  Leg leg{.row = row, .planned = planned};
  if (row.get("status") != "ok") return leg;
  leg.seconds = mean_of(cell.seconds);
  leg.interval = interval_label(leg.seconds.kind, "launches");
  const Bases bases = bases_of(row, epochs);
  // Epochs that somebody else timed may not say how many images they have.
  const auto has_samples = [](const ResultRow& one) { return number_in(one, "samples") > 0; };
  if (bases.one != nullptr && !(has_samples(row) && has_samples(bases.one->row))) {
    leg.row.add_note("no speedup: how many images an epoch has (samples) is not known");
  } else if (bases.one != nullptr) {
    scale(leg, cell, bases);
  } else if (!bases.other_origin.empty()) {
    leg.row.add_note(
        fmt::format("no speedup: H is {}, this is {}", bases.other_origin, row.get("origin")));
  } else {
    leg.row.set("status", "failed").add_note("H is missing: no one_device epoch on one rank");
  }
  return leg;
}

}  // namespace

std::vector<Leg> measured_legs(const std::vector<Cell>& epochs) {
  std::map<int, int> cells;  // of each round
  for (const Cell& cell : epochs) {
    for (const CellLaunch& launch : cell.launches) ++cells[launch.round];
  }
  const auto planned = std::ranges::count_if(cells, [](const auto& its) { return its.second > 1; });
  std::vector<Leg> legs;
  for (const Cell& cell : epochs) {
    // A share of an epoch is no epoch.
    if (is_share(cell.row)) continue;
    legs.push_back(leg_of(cell, epochs, static_cast<std::size_t>(planned)));
  }
  std::ranges::stable_sort(legs, {}, [](const Leg& leg) {
    return std::tuple(leg.row.get("model"), leg.row.get("scaling"), number_in(leg.row, "ranks"),
                      leg.row.get("gradient_sync"), leg.row.get("nodes"));
  });
  return legs;
}

namespace {

void copy(ResultRow& row, const Leg& leg, std::initializer_list<std::string_view> columns) {
  for (const std::string_view column : columns) row.set(column, leg.row.get(column));
}

/// What summary.csv and scaling.csv have in common.
void set_scaling(ResultRow& row, const Leg& leg) {
  copy(row, leg, {"model", "scaling", "ranks", "nodes"});
  row.set("h_seconds", leg.h_seconds).set("ideal_seconds", leg.scaling.ideal_seconds);
  row.set("measured_seconds", leg.seconds.value).set("speedup", leg.scaling.speedup);
  set_interval(row, "efficiency", leg.efficiency);
  row.set("efficiency", leg.scaling.efficiency).set("lost_seconds", leg.scaling.lost_seconds);
  if (leg.h_seconds > 0) row.set("rounds", leg.rounds);
}

/// Null: nothing is lost, or nobody knows to what.
const LostTime* largest_loss(const Leg& leg) {
  const auto largest = std::ranges::max_element(
      leg.losses, {}, [](const LostTime& loss) { return loss.seconds.value; });
  return largest == leg.losses.end() || largest->seconds.value <= 0 ? nullptr : &*largest;
}

/// Origin, rounds, of what the intervals are, and what the efficiency's leaves open; or why there
/// is no number.
std::string trust_of(const Leg& leg) {
  const std::string &status = leg.row.get("status"), &note = leg.row.get("note");
  if (status != "ok") return fmt::format("{}: {}", status, note);
  std::string words = leg.row.get("origin");
  if (leg.h_seconds > 0) {
    const bool lost = leg.rounds > 0 && leg.rounds < leg.planned;
    words += leg.rounds == 0 ? ", no rounds"
             : lost          ? fmt::format(", {} of {} rounds", leg.rounds, leg.planned)
                             : fmt::format(", {} round{}", leg.rounds, leg.rounds > 1 ? "s" : "");
    words += ", " + (leg.interval.empty() ? "no interval" : leg.interval);
    const LaunchInterval& e = leg.efficiency;
    if (leg.row.get("ranks") != "1" && e.low <= 1 && e.high >= 1) {
      words += "; cannot be told from ideal";
    }
    if (e.low > 1) words += "; faster than ideal";
  }
  return words + (note.empty() ? "" : "; " + note);
}

/// The gradient syncs, each with what tells its row from others of its model, N and scaling.
std::vector<std::string> strategies_of(const std::vector<Leg>& legs) {
  std::vector<const ResultRow*> rows;
  std::vector<std::string> names;
  for (const Leg& leg : legs) {
    rows.push_back(&leg.row);
    names.push_back(leg.row.get("model") + "\n" + leg.row.get("gradient_sync") + "\n" +
                    leg.row.get("scaling") + "\n" + leg.row.get("ranks"));
  }
  std::vector<std::string> strategies = words_apart(rows, names);
  for (std::size_t i = 0; i < legs.size(); ++i) {
    const std::string words = strategies[i].empty() ? "" : "," + strategies[i];
    strategies[i] = rows[i]->get("gradient_sync") + words;
  }
  return strategies;
}

}  // namespace

std::vector<ResultRow> summary_rows(const std::vector<Leg>& legs) {
  const std::vector<std::string> strategies = strategies_of(legs);
  std::vector<ResultRow> rows;
  for (const Leg& leg : legs) {
    ResultRow& row = rows.emplace_back(summary_schema());
    row.set("strategy", strategies[rows.size() - 1]);
    set_scaling(row, leg);
    if (const LostTime* const loss = largest_loss(leg)) {
      set_interval(row.set("largest_loss", loss->name), "largest_loss_seconds", loss->seconds);
    }
    row.set("trust", trust_of(leg));
  }
  return rows;
}

std::vector<ResultRow> scaling_rows(const std::vector<Leg>& legs) {
  std::vector<ResultRow> rows;
  for (const Leg& leg : legs) {
    ResultRow& row = rows.emplace_back(scaling_schema());
    copy(row, leg,
         {"run_id", "case_id", "entry", "origin", "status", "note", "gradient_sync", "joules"});
    set_scaling(row, leg);
    set_interval(row.set("interval", leg.interval), "measured_seconds", leg.seconds);
    row.set("rho", leg.scaling.rho).set("karp_flatt", leg.scaling.karp_flatt);
    row.set("efficiency_raw", leg.raw);
    set_interval(row, "efficiency_statistical", leg.statistical);
    set_interval(row, "energy_ratio", leg.energy);
  }
  return rows;
}

std::vector<ResultRow> loss_rows(const std::vector<Leg>& legs) {
  std::vector<ResultRow> rows;
  for (const Leg& leg : legs) {
    for (const LostTime& loss : leg.losses) {
      ResultRow& row = rows.emplace_back(losses_schema());
      copy(row, leg,
           {"run_id", "case_id", "entry", "origin", "status", "gradient_sync", "ranks", "nodes"});
      set_interval(row.set("loss", loss.name), "seconds", loss.seconds);
      if (loss.name == kJoinedLoss) {
        row.set("note", fmt::format("the {} cannot tell them apart",
                                    leg.rounds > 0 ? "hosts' clocks" : "log"));
      }
    }
  }
  return rows;
}

}  // namespace scalebench
