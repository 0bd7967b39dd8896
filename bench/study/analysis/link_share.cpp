// SPDX-License-Identifier: Apache-2.0
#include "bench/study/analysis/link_share.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>

#include "bench/record/columns.hpp"
#include "bench/study/analysis/legs.hpp"
#include "bench/study/analysis/rounds.hpp"

namespace scalebench {
namespace {

constexpr double kGiga = 1e9;

/// These send every gradient once a step, in one allreduce or in parts whose bytes sum to it.
constexpr auto kByAllreduce = std::to_array<std::string_view>(
    {"mirrored", "multi_worker", "naive", "bucketed_overlap", "horovod"});

struct LinkRate {
  double gb_per_s = std::nan("");
  std::string basis;  // the file; without a rate: why there is none
};

struct Traffic {
  double bytes = std::nan("");  // sent by the busiest rank in an epoch
  double message_bytes = 0;     // all gradients
  std::string unknown{};        // why bytes are not known
};

Traffic traffic_of(const ResultRow& leg, const FitModel& model) {
  constexpr double kFloatBytes = 4;
  Traffic traffic;
  const double parameters = number_in(leg, "parameters"), ranks = number_in(leg, "ranks");
  const std::string& sync = leg.get("gradient_sync");
  if (std::ranges::find(kByAllreduce, sync) == kByAllreduce.end()) {
    traffic.unknown = sync + " does not send all gradients by an allreduce";
  } else if (leg.get("dtype") != "float") {
    traffic.unknown = "how wide gradients of " + leg.get("dtype") + " travel is not recorded";
  } else if (leg.get("allreduce").empty() || !(parameters > 0)) {
    traffic.unknown = "the allreduce or the number of gradients is not recorded";
  }
  if (!traffic.unknown.empty()) return traffic;
  const double nodes = std::max(1.0, number_in(leg, "nodes"));
  const double steps = number_in(leg, "samples") / (number_in(leg, "batch") * ranks);
  const AllreduceWork work = model.work_of({.algorithm = leg.get("allreduce"),
                                            .transport = leg.get("transport"),
                                            .on_device = leg.get("device").starts_with("cuda"),
                                            .ranks = ranks,
                                            .ranks_on_node = ranks / nodes,
                                            .count = parameters,
                                            .element_bytes = kFloatBytes});
  traffic.message_bytes = kFloatBytes * parameters;
  traffic.bytes = steps * work.sent_bytes;
  if (std::isnan(traffic.bytes)) {
    traffic.unknown = "what " + leg.get("allreduce") + " sends is known to its library alone";
  }
  return traffic;
}

/// Of rows with those ranks over that transport the one of the nearest size, of several the best.
/// A size more than 4 times larger or smaller says nothing of this one.
double best_busbw(const std::vector<ResultRow>& rows, const ResultRow& leg, double bytes) {
  constexpr double kNear = 4;
  const std::string memory = leg.get("device").starts_with("cpu") ? "host" : "device";
  double nearest = kNear, best = std::nan("");
  for (const ResultRow& row : rows) {
    const bool same = row.get("status") == "ok" && row.get("origin") == leg.get("origin") &&
                      row.get("ranks") == leg.get("ranks") && row.get("memory") == memory &&
                      row.get("transport") == leg.get("transport") &&
                      (leg.get("nodes").empty() || row.get("nodes") == leg.get("nodes"));
    const double size = number_in(row, "size_bytes"), rate = number_in(row, "busbw_gb_per_s");
    if (!same || !(size > 0) || !(rate > 0)) continue;
    const double ratio = std::max(size / bytes, bytes / size);
    if (ratio > nearest) continue;
    best = ratio < nearest ? rate : std::fmax(best, rate);
    nearest = ratio;
  }
  return best;
}

LinkRate between_nodes(const std::vector<ResultRow>& links, const ResultRow& leg) {
  LinkRate slowest{std::nan(""), "no link between hosts was measured"};
  for (const ResultRow& row : links) {
    const bool is_pair = row.get("from_host") != "all" && row.get("to_host") != "all";
    if (!is_pair || row.get("status") != "ok" || row.get("origin") != leg.get("origin")) continue;
    slowest.gb_per_s = std::fmin(slowest.gb_per_s, number_in(row, "gb_per_s"));
    slowest.basis = links_schema().file;
  }
  return slowest;
}

LinkRate inside_a_node(const std::vector<ResultRow>& allreduce, const std::vector<ResultRow>& bound,
                       const ResultRow& leg, double bytes) {
  const double allowed = best_busbw(bound, leg, bytes);
  if (!std::isnan(allowed)) return {allowed, std::string(bound_schema().file)};
  const double reached = best_busbw(allreduce, leg, bytes);
  if (!std::isnan(reached)) return {reached, std::string(allreduce_schema().file)};
  return {std::nan(""),
          fmt::format("nothing of about {:.0f} bytes was measured over {} on {} ranks", bytes,
                      leg.get("transport"), leg.get("ranks"))};
}

/// Seconds in which gradients were moving: exposed, under the backward pass, or beside it.
double seconds_moving(const ResultRow& row) {
  const double exposed = number_in(row, "transfer_seconds");
  double sum = exposed;
  for (const char* aside : {"hidden_seconds", "concurrent_seconds"}) {
    const double seconds = number_in(row, aside);
    if (seconds > 0) sum += seconds;
  }
  return sum;
}

void set_link_share(ResultRow& row, const ResultRow& leg, const RowsByRound& rounds,
                    const Traffic& traffic, const LinkRate& link) {
  ByRound rates;  // GB/s in each round
  for (const auto& [round, one] : rounds) {
    const double seconds = seconds_moving(*one);
    if (seconds > 0) rates.emplace(round, traffic.bytes / seconds / kGiga);
  }
  if (rates.empty() && seconds_moving(leg) > 0) {
    rates.emplace(0, traffic.bytes / seconds_moving(leg) / kGiga);
  }
  row.set("gradient_bytes_sent", traffic.bytes);
  if (rates.empty()) {
    row.set("link_basis", "how long gradients moved is not recorded");
    return;
  }
  const LaunchInterval rate = across_rounds(rates);
  row.set("gradient_gb_per_s", rate.median).set("link_gb_per_s", link.gb_per_s);
  set_interval(row, "link_share", rate, 1 / link.gb_per_s);
  row.set("link_basis", link.basis);
}

}  // namespace

void set_link_shares(std::vector<ResultRow>& scaling_rows, const std::vector<ResultRow>& epoch_rows,
                     const std::vector<LaunchRows>& launches,
                     const std::vector<ResultRow>& allreduce_rows,
                     const std::vector<ResultRow>& bound_rows,
                     const std::vector<ResultRow>& link_rows, const FitModel& model) {
  const Rounds rounds(launches);
  for (const ResultRow* leg : legs_of(epoch_rows)) {
    const bool communicates = leg->get("status") == "ok" && ranks_of(*leg) > 1 && !is_share(*leg) &&
                              leg->get("gradient_sync") != "none" &&
                              leg->get("gradient_sync") != "barrier_only";
    const auto row = std::ranges::find_if(scaling_rows, [&](const ResultRow& one) {
      return std::ranges::all_of(std::to_array({"case_id", "origin", "ranks", "nodes"}),
                                 [&](auto column) { return one.get(column) == leg->get(column); });
    });
    if (!communicates || row == scaling_rows.end()) continue;
    const Traffic traffic = traffic_of(*leg, model);
    if (!traffic.unknown.empty()) {
      row->set("link_basis", traffic.unknown);
      continue;
    }
    const bool several = number_in(*leg, "nodes") > 1;
    set_link_share(*row, *leg, rounds.of(*leg), traffic,
                   several
                       ? between_nodes(link_rows, *leg)
                       : inside_a_node(allreduce_rows, bound_rows, *leg, traffic.message_bytes));
  }
}

}  // namespace scalebench
