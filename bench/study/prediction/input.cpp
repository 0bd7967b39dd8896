// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "bench/measure/statistics.hpp"
#include "bench/study/analysis/legs.hpp"
#include "bench/study/analysis/stored_run.hpp"
#include "bench/study/prediction/rows.hpp"
#include "collectives/carries.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

bool is_strategy(const ResultRow& row) {
  const std::string& sync = row.get("gradient_sync");
  return number_in(row, "ranks") > 1 && !is_share(row) && sync != "none" &&
         sync != "barrier_only" && sync != "one_device";
}

/// What an epoch's states leave of it is the host's. Where transfer and waiting are known together
/// only, so is their sample.
EpochSample sample_of(const ResultRow& row) {
  const double seconds = number_in(row, "seconds"), compute = number_in(row, "compute_seconds");
  const double exchange = transfer_and_wait(row);
  // Servers compute nothing, and the states are means over all ranks.
  const double all = number_in(row, "ranks") / workers_in(row);
  const double transfer = is_joined(row) ? std::nan("") : number_in(row, "transfer_seconds");
  return {seconds,
          all * compute,
          transfer,
          number_in(row, "wait_static_seconds"),
          number_in(row, "wait_jitter_seconds"),
          seconds - compute - exchange};
}

EpochLeg leg_of(const ResultRow& row) {
  EpochLeg leg;
  leg.at.ranks = static_cast<int>(number_in(row, "ranks"));
  leg.at.nodes = std::max(1, static_cast<int>(number_in(row, "nodes")));
  leg.batch = number_in(row, "batch");
  leg.samples = number_in(row, "samples");
  return leg;
}

/// The cell's launches.
EpochLeg leg_of(const Cell& cell) {
  EpochLeg leg = leg_of(cell.row);
  for (const CellLaunch& launch : cell.launches) {
    if (launch.ok()) leg.launches.push_back(sample_of(launch.row));
  }
  return leg;
}

double step_seconds(const Cell& cell) { return median_of(cell.seconds) / leg_of(cell.row).steps(); }

/// The plain loop on one rank: with all images of a step, and with those of one of N ranks.
void add_shares(PredictionCase& of, const ResultRow& like, const std::vector<Cell>& epochs) {
  const Cell* const whole = bases_of(like, epochs).raw;
  if (whole == nullptr) return;
  std::set<int> all_ranks;
  for (const Cell& cell : epochs) {
    if (is_share(cell.row)) all_ranks.insert(static_cast<int>(number_in(cell.row, "share_of")));
  }
  for (const int ranks : all_ranks) {
    const auto is_its = [&](const ResultRow& row) {
      return row.get("gradient_sync") == "none" && row.get("share_of") == std::to_string(ranks) &&
             row.get("origin") == like.get("origin");
    };
    const Cell* const share = nearest(epochs, like, number_in(like, "samples") / ranks, is_its);
    if (share == nullptr) continue;
    const double relative = step_seconds(*share) / step_seconds(*whole);
    of.shares.push_back({ranks, {number_in(share->row, "batch"), relative}});
  }
}

struct CurveSide {
  std::string placement, cache;
  auto operator<=>(const CurveSide&) const = default;
};

CurveSide side_of(const AllreducePoint& point) { return {point.of.placement, point.of.cache}; }

/// In place and warm, as gradients are that were just made, where that was measured.
CurveSide side_of(const std::vector<AllreducePoint>& points) {
  std::set<CurveSide> sides;
  for (const AllreducePoint& point : points) sides.insert(side_of(point));
  const auto usual = [](const CurveSide& side) {
    return (side.placement == "out_of_place" ? 2 : 0) + (side.cache == "warm" ? 0 : 1);
  };
  return sides.empty() ? CurveSide() : *std::ranges::min_element(sides, {}, usual);
}

bool belongs(const AllreducePoint& point, const ResultRow& like) {
  const bool on_host = like.get("device").starts_with("cpu");
  const std::string& registered = point.of.registered;  // with NCCL, as trainings register theirs
  return point.of.origin == like.get("origin") && point.of.transport == like.get("transport") &&
         point.of.dtype == "float" && point.of.op == "sum" && point.of.mode == "isolated" &&
         (registered.empty() || registered == "1") &&
         point.of.memory == (on_host ? "host" : "device");
}

void add_curves(PredictionCase& of, const StoredRun& run, const ResultRow& like) {
  std::vector<AllreducePoint> points;
  for (const LaunchRows& launch : run.launches_of(allreduce_schema())) {
    for (const AllreducePoint& point : points_of(launch.cases)) {
      if (belongs(point, like)) points.push_back(point);
    }
  }
  const CurveSide side = side_of(points);
  std::map<std::tuple<std::string, RankLayout, double>, std::vector<double>> measured;
  for (const AllreducePoint& point : points) {
    if (side_of(point) != side) continue;
    const RankLayout at{point.ranks, point.nodes};
    measured[{point.of.algorithm, at, point.size_bytes()}].push_back(point.seconds);
  }
  for (const auto& [key, launches] : measured) {
    const auto& [algorithm, at, size_bytes] = key;
    of.curves[algorithm].push_back({at, size_bytes, median_of(launches)});
  }
}

/// What moves the gradients; the halves of an allreduce are those of the one that suits the place.
std::string algorithm_of(std::string_view strategy, const ResultRow& like) {
  const Carrier carrier = carrier_of(strategy);
  if (carrier == Carrier::any_allreduce) return like.get("allreduce");
  const double nodes = number_in(like, "nodes");
  if (carrier == Carrier::halves_within_nodes_first && nodes > 1 &&
      number_in(like, "ranks") > nodes) {
    return "hierarchical";
  }
  return why_not_carried("direct", like.get("transport")).empty() ? "direct" : "ring";
}

void add_profiles(CaseOfRun& found, const Profiles& profiles, const Cell& one) {
  for (const CellLaunch& launch : one.launches) {
    const auto profile = profiles.find(launch.number);
    if (launch.ok() && profile != profiles.end()) found.of.profiles.push_back(profile->second);
  }
  if (found.of.profiles.empty()) {
    found.missing = fmt::format("no step of {} on one rank was recorded: the study's record_trace",
                                found.like.get("model"));
  }
}

/// All but the legs.
CaseOfRun case_like(const ResultRow& like, const StoredRun& run, const Profiles& profiles,
                    const std::vector<Cell>& epochs) {
  CaseOfRun found{{}, like};
  PredictionCase& of = found.of;
  of.strategy = like.get("gradient_sync");
  of.strong = like.get("scaling") == "strong";
  of.on_compute_core = like.get("device").starts_with("cpu") && !(number_in(like, "nodes") > 1);
  // Nodes in a box have this machine's cores together.
  of.on_one_machine = like.get("origin") == "emulated" && number_in(like, "nodes") > 1;
  of.algorithm = algorithm_of(of.strategy, like);
  of.transport = like.get("transport");
  of.on_device = like.get("device").starts_with("cuda");
  if (!has_formula(of.strategy)) {
    found.missing = fmt::format("there is no formula for gradient sync {}", of.strategy);
    return found;
  }
  const Bases bases = bases_of(like, epochs);
  const Cell* const one = bases.one;
  if (one == nullptr) {
    found.missing =
        bases.other_origin.empty()
            ? "no epoch of one_device on one rank: H is missing"
            : fmt::format("H is {}, this is {}", bases.other_origin, like.get("origin"));
    return found;
  }
  of.one = leg_of(*one);
  if (of.strong) add_shares(of, like, epochs);
  add_curves(of, run, like);
  if (of.curves.empty()) {
    const std::string& transport = like.get("transport");
    found.missing = transport.empty()
                        ? "its rows do not say which transport the gradients took"
                        : fmt::format("no allreduce of floats was measured over {}", transport);
    return found;
  }
  add_profiles(found, profiles, *one);
  return found;
}

}  // namespace

std::vector<CaseOfRun> cases_of_run(const StoredRun& run, const Profiles& profiles) {
  const std::vector<Cell> epochs = cells_of(run.launches_of(epoch_schema()));
  std::vector<CaseOfRun> cases;
  std::vector<std::string> ids;  // with the origin: of one case, more ranks may share a core
  for (const Cell& cell : epochs) {
    if (!is_strategy(cell.row) || cell.seconds.empty()) continue;
    const std::string its = cell.row.get("case_id") + "/" + cell.row.get("origin");
    auto id = std::ranges::find(ids, its);
    if (id == ids.end()) {
      id = ids.insert(ids.end(), its);
      cases.push_back(case_like(cell.row, run, profiles, epochs));
    }
    CaseOfRun& found = cases[static_cast<std::size_t>(id - ids.begin())];
    found.of.legs.push_back(leg_of(cell));
    if (number_in(cell.row, "ranks") > number_in(found.like, "ranks")) found.like = cell.row;
  }
  for (CaseOfRun& found : cases) {
    std::ranges::sort(found.of.legs, {}, &EpochLeg::at);
    for (const EpochLeg& leg : found.of.legs) found.measured.push_back(leg.at);
  }
  return cases;
}

}  // namespace scalebench
