// SPDX-License-Identifier: Apache-2.0
#include "bench/study/loss_columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "bench/study/collect.hpp"
#include "bench/study/losses.hpp"

namespace scalebench {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

std::optional<StateSeconds> states_in(const ResultRow& row) {
  StateSeconds states;
  for (std::size_t i = 0; i < states.size(); ++i) {
    states[i] = number_in(row, fmt::format("{}_seconds", kLossNames[i]));
    if (std::isnan(states[i])) return std::nullopt;
  }
  return states;
}

/// The plain loop on one rank with the images of one of `ranks` ranks; 1: with all of them. With
/// all, that of the most similar amount of work.
const ResultRow* plain(const std::vector<const ResultRow*>& rows, const ResultRow& leg,
                       const std::string& ranks) {
  const ResultRow* nearest = nullptr;
  const double wanted = number_in(leg, "samples") / std::stod(ranks);
  const auto distance = [&](const ResultRow& row) {
    return std::abs(number_in(row, "samples") - wanted);
  };
  for (const ResultRow* row : rows) {
    const std::string share = row->get("share_of").empty() ? "1" : row->get("share_of");
    const bool is_it = row->get("gradient_sync") == "none" && row->get("ranks") == "1" &&
                       share == ranks && row->get("status") == "ok" &&
                       row->get("origin") == leg.get("origin") && comparable(leg, *row);
    if (is_it && (nearest == nullptr || distance(*row) < distance(*nearest))) nearest = row;
  }
  return nearest;
}

double batch_seconds(const std::vector<const ResultRow*>& rows, const ResultRow& leg) {
  const ResultRow* all = plain(rows, leg, "1");
  const ResultRow* share = plain(rows, leg, leg.get("ranks"));
  if (all == nullptr || share == nullptr) return kUnknown;
  const double ranks = number_in(leg, "ranks");
  const double rho = ranks * number_in(*share, "samples") / number_in(*all, "samples");
  return batch_loss(number_in(*share, "compute_seconds"), number_in(*all, "compute_seconds"), rho,
                    static_cast<int>(ranks));
}

}  // namespace

bool is_share(const ResultRow& row) {
  return !row.get("share_of").empty() && row.get("share_of") != "1";
}

bool comparable(const ResultRow& leg, const ResultRow& one) {
  constexpr std::array<std::string_view, 10> kEqual{
      "model",   "device",  "dtype",     "memory_format", "threads",
      "dataset", "scaling", "optimizer", "learning_rate", "target_accuracy"};
  // With a target each trains as long as it takes; the time is that of one epoch all the same.
  const bool same_length =
      !leg.get("target_accuracy").empty() || leg.get("epochs") == one.get("epochs");
  const std::string_view batch = leg.get("scaling") == "strong" ? "global_batch" : "batch";
  return same_length && leg.get(batch) == one.get(batch) &&
         std::ranges::all_of(kEqual,
                             [&](auto column) { return leg.get(column) == one.get(column); });
}

void set_losses(ResultRow& row, const ResultRow& leg, const ResultRow& one,
                const std::vector<const ResultRow*>& rows) {
  const auto at_one = states_in(one), at_n = states_in(leg);
  if (!at_one || !at_n) return;
  const int ranks = static_cast<int>(number_in(leg, "ranks"));
  const double batch = ranks > 1 ? batch_seconds(rows, leg) : kUnknown;
  const Losses losses =
      losses_of(*at_one, number_in(row, "h_seconds"), *at_n, number_in(row, "seconds_median"),
                number_in(row, "rho"), ranks, batch);
  row.set("lost_work_seconds", losses.work);
  for (std::size_t i = 0; i < kLossNames.size(); ++i) {
    row.set(fmt::format("lost_{}_seconds", kLossNames[i]), losses.by_state[i]);
  }
  if (!std::isnan(losses.batch)) {
    // The two parts instead of their sum: whoever adds up the columns counts nothing twice.
    row.set("lost_compute_seconds", "").set("lost_batch_seconds", losses.batch);
    row.set("lost_contention_seconds", losses.contention);
  }
  row.set("lost_unattributed_seconds", losses.unattributed);
  row.set("last_rank", leg.get("last_rank")).set("last_rank_share", leg.get("last_rank_share"));
}

}  // namespace scalebench
