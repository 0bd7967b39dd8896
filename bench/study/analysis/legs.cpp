// SPDX-License-Identifier: Apache-2.0
#include "bench/study/analysis/legs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <string_view>

namespace scalebench {

bool is_share(const ResultRow& row) {
  return !row.get("share_of").empty() && row.get("share_of") != "1";
}

std::vector<std::string_view> differences(const ResultRow& leg, const ResultRow& one) {
  std::vector<std::string_view> columns{"model",   "device",  "dtype",   "settings",
                                        "threads", "dataset", "scaling", "optimizer"};
  const auto is_barrier = [](const ResultRow& row) {
    return row.get("gradient_sync") == "barrier_only" && row.get("target_accuracy").empty();
  };
  // barrier_only learns nothing together, so it has no target, and stands beside runs that have
  // one.
  const bool beside_target = (is_barrier(leg) || is_barrier(one)) &&
                             leg.get("target_accuracy") != one.get("target_accuracy");
  if (!beside_target) columns.push_back("target_accuracy");
  columns.push_back(leg.get("scaling") == "strong" ? "global_batch" : "batch");
  std::erase_if(columns, [&](auto column) { return leg.get(column) == one.get(column); });
  return columns;
}

const Cell* nearest(const std::vector<Cell>& cells, const ResultRow& leg, double samples,
                    const std::function<bool(const ResultRow&)>& fits) {
  const Cell* found = nullptr;
  const auto distance = [&](const Cell* cell) {
    return std::abs(number_in(cell->row, "samples") - samples);
  };
  for (const Cell& cell : cells) {
    const ResultRow& row = cell.row;
    const bool is_one = row.get("ranks") == "1" && row.get("status") == "ok" && fits(row);
    if (!is_one || !differences(leg, row).empty()) continue;
    if (found == nullptr || distance(&cell) < distance(found)) found = &cell;
  }
  return found;
}

bool is_weak(const ResultRow& leg) { return leg.get("scaling") == "weak"; }

int ranks_of(const ResultRow& leg) { return static_cast<int>(number_in(leg, "ranks")); }

int workers_in(const ResultRow& leg) {
  const double parts = number_in(leg, "global_batch") / number_in(leg, "batch");
  const double share = is_share(leg) ? number_in(leg, "share_of") : 1;
  return parts >= share ? static_cast<int>(parts / share) : ranks_of(leg);
}

namespace {

/// Of a leg's images those that one device would have: all, or with weak scaling a worker's.
double images_of_one(const ResultRow& leg) {
  return number_in(leg, "samples") / (is_weak(leg) ? workers_in(leg) : 1);
}

}  // namespace

Bases bases_of(const ResultRow& leg, const std::vector<Cell>& epochs) {
  const double images = images_of_one(leg);
  // H is one real device; legs whose ranks share a core are emulated and have no true speedup, so
  // only a base of the same kind will do.
  const auto base = [&](std::string_view sync, bool is_own_kind) {
    return nearest(epochs, leg, images, [&](const ResultRow& other) {
      return other.get("gradient_sync") == sync && !is_share(other) &&
             (other.get("origin") == leg.get("origin")) == is_own_kind;
    });
  };
  Bases bases{.one = base("one_device", true), .raw = base("none", true)};
  const Cell* const foreign = bases.one == nullptr ? base("one_device", false) : nullptr;
  if (foreign != nullptr) bases.other_origin = foreign->row.get("origin");
  // Its times are taken as they are, and so are those of a share of another epoch no base.
  const double of_share = is_weak(leg) ? images : images / ranks_of(leg);
  bases.share = nearest(epochs, leg, of_share, [&](const ResultRow& other) {
    return other.get("gradient_sync") == "none" && is_share(other) &&
           other.get("share_of") == leg.get("ranks") && other.get("origin") == leg.get("origin") &&
           number_in(other, "samples") == of_share;
  });
  return bases;
}

double rho_of(const ResultRow& leg, const ResultRow& one) {
  return number_in(leg, "samples") / number_in(one, "samples");
}

namespace {

/// Seconds of a state in each of these epochs. `rest`: what states so far leave of them.
std::vector<double> seconds_of(const LaunchEpochs& rows, std::string_view state,
                               std::vector<double>& rest) {
  if (state == kStatesOfAccount.back()) return rest;
  std::vector<double> seconds;
  for (const ResultRow* row : rows) {
    const bool joined = state == kJoinedLoss;
    seconds.push_back(joined ? transfer_and_wait(*row)
                             : number_in(*row, fmt::format("{}_seconds", state)));
    rest[seconds.size() - 1] -= seconds.back();
  }
  return seconds;
}

/// The states of an account in order: where one epoch has transfer and waiting as a sum, all have.
std::vector<std::string_view> names_of(bool joined) {
  if (!joined) return {kStatesOfAccount.begin(), kStatesOfAccount.end()};
  return {kStatesOfAccount[0], kJoinedLoss, kStatesOfAccount[4], kStatesOfAccount[5],
          kStatesOfAccount[6]};
}

}  // namespace

std::vector<double> values_of(const LaunchEpochs& epochs, std::string_view column) {
  std::vector<double> values;
  for (const ResultRow* row : epochs) values.push_back(number_in(*row, column));
  return values;
}

bool is_joined(const ResultRow& epoch) {
  return epoch.get("wait_static_seconds").empty() && !epoch.get("transfer_seconds").empty();
}

double transfer_and_wait(const ResultRow& epoch) {
  const double transfer = number_in(epoch, "transfer_seconds");
  if (is_joined(epoch)) return transfer;
  return transfer + number_in(epoch, "wait_static_seconds") +
         number_in(epoch, "wait_jitter_seconds");
}

std::vector<LostTime> losses_of(const LaunchEpochs& n, const LaunchEpochs& one,
                                const LaunchEpochs& share, double part, Sides sides) {
  const auto joined_one = [](const ResultRow* row) { return is_joined(*row); };
  const bool joined = std::ranges::any_of(n, joined_one) || std::ranges::any_of(one, joined_one);
  std::vector<LostTime> losses;
  std::vector<double> rest_of_n = values_of(n, "seconds"), rest_of_one = values_of(one, "seconds");
  for (const std::string_view name : names_of(joined)) {
    const auto at_n = seconds_of(n, name, rest_of_n);
    const auto at_one = seconds_of(one, name, rest_of_one);
    if (losses.empty() && !share.empty()) {
      // The two parts instead of their sum: whoever adds up the rows counts nothing twice.
      const std::vector<double> alone = values_of(share, "compute_seconds");
      losses.push_back({"batch", difference_of_means(alone, at_one, part, sides)});
      losses.push_back({"contention", difference_of_means(at_n, alone, 1, sides)});
    } else {
      losses.push_back({name, difference_of_means(at_n, at_one, part, sides)});
    }
  }
  const auto is_unknown = [](const LostTime& loss) { return std::isnan(loss.seconds.value); };
  return std::ranges::any_of(losses, is_unknown) ? std::vector<LostTime>() : losses;
}

}  // namespace scalebench
