// SPDX-License-Identifier: Apache-2.0
#include "bench/study/analysis/scaling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>

#include "bench/study/analysis/rows.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
constexpr double kMostWidths = 2;  // that two ways to the same loss may differ by

double total(const StateSeconds& states) {
  return std::accumulate(states.begin(), states.end(), 0.0);
}

}  // namespace

Scaling scaling_of(TimeWithInterval h, double samples_at_one, TimeWithInterval t,
                   double samples_at_n, int devices) {
  const bool possible =
      h.seconds > 0 && t.seconds > 0 && samples_at_one > 0 && samples_at_n > 0 && devices > 0;
  if (!possible) {
    fail("no speedup from H = {} s over {} samples and T = {} s over {} samples on {} devices",
         h.seconds, samples_at_one, t.seconds, samples_at_n, devices);
  }
  const double n = devices;
  // One side without an interval is taken as exact: a single launch has none.
  const auto end = [](double bound, double value) { return std::isnan(bound) ? value : bound; };
  const bool any_interval = !std::isnan(h.low) || !std::isnan(t.low);
  Scaling scaling;
  scaling.ideal_seconds = h.seconds / n;
  scaling.rho = samples_at_n / samples_at_one;
  scaling.speedup = scaling.rho * h.seconds / t.seconds;
  scaling.speedup_low = scaling.speedup_high = kUnknown;
  if (any_interval) {
    scaling.speedup_low = scaling.rho * end(h.low, h.seconds) / end(t.high, t.seconds);
    scaling.speedup_high = scaling.rho * end(h.high, h.seconds) / end(t.low, t.seconds);
  }
  scaling.efficiency = scaling.speedup / n;
  scaling.efficiency_low = scaling.speedup_low / n;
  scaling.efficiency_high = scaling.speedup_high / n;
  scaling.karp_flatt = devices > 1 ? (1 / scaling.speedup - 1 / n) / (1 - 1 / n) : kUnknown;
  scaling.lost_seconds = t.seconds - scaling.rho * scaling.ideal_seconds;
  return scaling;
}

Losses losses_of(const StateSeconds& one, double h_seconds, const StateSeconds& n, double t_seconds,
                 double rho, int devices, double batch_seconds) {
  Losses losses;
  const double ideal = h_seconds / devices;
  losses.work = (rho - 1) * ideal;
  for (std::size_t i = 0; i < one.size(); ++i) losses.by_state[i] = n[i] - rho * one[i] / devices;
  losses.batch = batch_seconds;
  losses.contention = losses.by_state[0] - batch_seconds;
  losses.unattributed = t_seconds - ideal - losses.work - total(losses.by_state);
  return losses;
}

double batch_loss(double compute_of_share, double compute_of_all, double rho, int devices) {
  return compute_of_share - rho * compute_of_all / devices;
}

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

namespace {

/// Of the legs on one rank that fit and are comparable, that of the most similar amount of work.
template <class Fits>
const ResultRow* nearest(const std::vector<const ResultRow*>& rows, const ResultRow& leg,
                         double samples, Fits fits) {
  const ResultRow* found = nullptr;
  const auto distance = [&](const ResultRow* row) {
    return std::abs(number_in(*row, "samples") - samples);
  };
  for (const ResultRow* row : rows) {
    const bool is_one = row->get("ranks") == "1" && row->get("status") == "ok" && fits(*row);
    if (!is_one || !comparable(leg, *row)) continue;
    if (found == nullptr || distance(row) < distance(found)) found = row;
  }
  return found;
}

std::optional<StateSeconds> states_in(const ResultRow& row) {
  StateSeconds states;
  for (std::size_t i = 0; i < states.size(); ++i) {
    states[i] = number_in(row, fmt::format("{}_seconds", kLossNames[i]));
    if (std::isnan(states[i])) return std::nullopt;
  }
  return states;
}

/// The plain loop on one rank with the images of one of `ranks` ranks; 1: with all of them.
const ResultRow* plain(const std::vector<const ResultRow*>& rows, const ResultRow& leg,
                       const std::string& ranks) {
  const double samples = number_in(leg, "samples") / std::stod(ranks);
  return nearest(rows, leg, samples, [&](const ResultRow& row) {
    const std::string share = is_share(row) ? row.get("share_of") : "1";
    return row.get("gradient_sync") == "none" && share == ranks &&
           row.get("origin") == leg.get("origin");
  });
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

/// Fills the lost_ columns of `row`, whose h_seconds, ideal_seconds, seconds_median and rho are
/// set: `leg` is its row of epoch.csv and `one` its H. Among `rows` the plain loop on one rank with
/// all images, and the one with one rank's share of them, say what smaller batches cost; without
/// them the loss of computation is not split. Rows without states leave the columns empty.
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

constexpr std::array<std::string_view, 17> kOfLeg{
    "schema_version", "run_id",    "case_id",   "origin",       "model",   "parameters",
    "gradient_sync",  "allreduce", "transport", "device",       "dataset", "scaling",
    "ranks",          "nodes",     "batch",     "global_batch", "dilation"};

TimeWithInterval time_of(const ResultRow& row) {
  return {number_in(row, "seconds_median"), number_in(row, "seconds_ci_low"),
          number_in(row, "seconds_ci_high")};
}

Scaling scaling_of(const ResultRow& leg, const ResultRow& one) {
  return scaling_of(time_of(one), number_in(one, "samples"), time_of(leg),
                    number_in(leg, "samples"), static_cast<int>(number_in(leg, "ranks")));
}

void set_scaling(ResultRow& row, const ResultRow& leg, const ResultRow& one) {
  const Scaling scaling = scaling_of(leg, one);
  row.set("baseline", one.get("gradient_sync")).set("h_seconds", number_in(one, "seconds_median"));
  row.set("ideal_seconds", scaling.ideal_seconds).set("rho", scaling.rho);
  row.set("speedup", scaling.speedup).set("speedup_ci_low", scaling.speedup_low);
  row.set("speedup_ci_high", scaling.speedup_high).set("efficiency", scaling.efficiency);
  row.set("efficiency_ci_low", scaling.efficiency_low);
  row.set("efficiency_ci_high", scaling.efficiency_high);
  // What more ranks cost in epochs, and what is left of the efficiency when they are counted.
  const double statistical =
      number_in(one, "epochs_to_target") / number_in(leg, "epochs_to_target");
  row.set("efficiency_statistical", statistical);
  row.set("efficiency_to_accuracy", scaling.efficiency * statistical);
  row.set("karp_flatt", scaling.karp_flatt).set("lost_seconds", scaling.lost_seconds);
}

ResultRow scaling_row(const ResultRow& leg, const std::vector<const ResultRow*>& rows) {
  ResultRow row(scaling_schema());
  for (const std::string_view column : kOfLeg) row.set(column, leg.get(column));
  row.set("status", leg.get("status")).set("note", leg.get("note"));
  if (leg.get("status") != "ok") return row;
  for (const std::string_view column :
       {"seconds_median", "seconds_ci_low", "seconds_ci_high", "interval", "launches",
        "test_accuracy", "target_accuracy", "epochs_to_target", "seconds_to_target"}) {
    row.set(column, leg.get(column));
  }
  const auto baseline = [&](std::string_view sync) {
    return nearest(rows, leg, number_in(leg, "samples"), [&](const ResultRow& other) {
      return other.get("gradient_sync") == sync && !is_share(other);
    });
  };
  const ResultRow* one = baseline("one_device");
  const ResultRow* raw = baseline("none");
  // H is one real device; legs whose ranks share a core are emulated and have no true speedup, so
  // only a base of the same kind will do.
  const auto same_origin = [&](const ResultRow* base) {
    return base != nullptr && base->get("origin") == leg.get("origin");
  };
  if (same_origin(raw)) {
    row.set("h_raw_seconds", number_in(*raw, "seconds_median"));
    row.set("efficiency_raw", scaling_of(leg, *raw).efficiency);
  }
  if (same_origin(one)) {
    set_scaling(row, leg, *one);
    set_losses(row, leg, *one, rows);
  } else if (one != nullptr) {
    row.set("note", "no speedup: H is " + one->get("origin") + ", this is " + leg.get("origin"));
  } else {
    row.set("status", "failed").set("note", "H is missing: no one_device epoch on one rank");
  }
  return row;
}

}  // namespace

std::vector<ResultRow> scaling_rows(const std::vector<ResultRow>& epoch_rows) {
  std::vector<const ResultRow*> legs;
  for (const ResultRow& row : epoch_rows) {
    if (row.get("rank") == "all") legs.push_back(&row);
  }
  std::vector<ResultRow> rows;
  for (const ResultRow* leg : legs) {
    // A share of an epoch is no epoch.
    if (!is_share(*leg)) rows.push_back(scaling_row(*leg, legs));
  }
  std::ranges::stable_sort(rows, [](const ResultRow& a, const ResultRow& b) {
    const auto key = [](const ResultRow& row) {
      return std::tuple(row.get("model"), row.get("scaling"), std::stoi(row.get("ranks")),
                        row.get("gradient_sync"), row.get("nodes"));
    };
    return key(a) < key(b);
  });
  return rows;
}

namespace {

/// What one run took, and within which interval over launches.
struct Rung {
  double seconds = kUnknown;
  double low = kUnknown;
  double high = kUnknown;
  std::string interval = {};
  std::string launches = {};
};

Rung rung_of(const ResultRow* row) {
  if (row == nullptr) return {};
  return {number_in(*row, "seconds_median"), number_in(*row, "seconds_ci_low"),
          number_in(*row, "seconds_ci_high"), row->get("interval"), row->get("launches")};
}

/// The row that equals `leg` in everything but these.
const ResultRow* leg_with(const std::vector<ResultRow>& rows, const ResultRow& leg,
                          std::string_view sync, const std::string& ranks, bool share) {
  for (const ResultRow& row : rows) {
    const bool is_it = row.get("rank") == "all" && row.get("status") == "ok" &&
                       row.get("gradient_sync") == sync && row.get("ranks") == ranks &&
                       is_share(row) == share && row.get("origin") == leg.get("origin");
    if (!is_it || !comparable(leg, row)) continue;
    if (ranks != "1" && row.get("nodes") != leg.get("nodes")) continue;
    if (!share || row.get("share_of") == leg.get("ranks")) return &row;
  }
  return nullptr;
}

/// The losses of these names, together; NaN when one is unknown.
double traced(const ResultRow* account, std::initializer_list<std::string_view> names) {
  double sum = account == nullptr ? kUnknown : 0;
  for (const std::string_view name : names) {
    if (account != nullptr) sum += number_in(*account, "lost_" + std::string(name) + "_seconds");
  }
  return sum;
}

class Ladder {
 public:
  Ladder(const ResultRow& leg, double rho, std::vector<ResultRow>& rows)
      : leg_(leg), rho_over_n_(rho / number_in(leg, "ranks")), rows_(rows) {}

  /// A run of its own: `at_one` is what one rank takes more for this rung than for the one before.
  void climb(std::string_view name, const Rung& rung, double at_one, double by_trace) {
    ResultRow& row = add(name, rung);
    const double expected = rho_over_n_ * at_one;
    const double lost = rung.seconds - below_.seconds - expected;
    row.set("seconds_at_one", expected).set("lost_seconds", lost).set("trace_seconds", by_trace);
    const double width = rung.high - rung.low + below_.high - below_.low;
    if (!std::isnan(width) && !std::isnan(lost) && !std::isnan(by_trace)) {
      row.set("disagrees", std::abs(lost - by_trace) > kMostWidths * width ? 1 : 0);
    }
    if (std::isnan(rung.seconds)) row.set("status", "failed").set("note", "not measured");
    below_ = rung;
  }

  void leave_out(std::string_view name, std::string_view why) {
    add(name, {}).set("status", "skipped").set("note", why);
  }

 private:
  ResultRow& add(std::string_view name, const Rung& rung) {
    constexpr std::array<std::string_view, 16> kOfRow{
        "schema_version", "run_id",    "case_id",   "origin", "status",  "model",
        "gradient_sync",  "allreduce", "transport", "device", "dataset", "scaling",
        "global_batch",   "batch",     "ranks",     "nodes"};
    ResultRow& row = rows_.emplace_back(ladder_schema());
    for (const std::string_view column : kOfRow) row.set(column, leg_.get(column));
    row.set("rung", name).set("seconds_median", rung.seconds).set("seconds_ci_low", rung.low);
    row.set("seconds_ci_high", rung.high).set("interval", rung.interval);
    return row.set("launches", rung.launches);
  }

  const ResultRow& leg_;
  const double rho_over_n_;
  std::vector<ResultRow>& rows_;
  Rung below_{0, 0, 0};  // a run that does nothing takes no time
};

const ResultRow* account_of(const std::vector<ResultRow>& scaling_rows, const ResultRow& leg) {
  for (const ResultRow& row : scaling_rows) {
    const bool same = row.get("case_id") == leg.get("case_id") &&
                      row.get("ranks") == leg.get("ranks") &&
                      row.get("nodes") == leg.get("nodes") && row.get("status") == "ok";
    if (same) return &row;
  }
  return nullptr;
}

void add_ladder(const ResultRow& leg, const std::vector<ResultRow>& epochs,
                const std::vector<ResultRow>& scaling, std::vector<ResultRow>& rows) {
  const ResultRow* share = leg_with(epochs, leg, "none", "1", true);
  if (share == nullptr) return;
  const std::string& ranks = leg.get("ranks");
  const ResultRow* account = account_of(scaling, leg);
  const ResultRow* one = leg_with(epochs, leg, "one_device", "1", false);
  const double plain_at_one = rung_of(leg_with(epochs, leg, "none", "1", false)).seconds;
  const double rho = account == nullptr ? kUnknown : number_in(*account, "rho");
  Ladder ladder(leg, rho, rows);
  ladder.climb("share", rung_of(share), plain_at_one, traced(account, {"batch"}));
  ladder.climb("together", rung_of(leg_with(epochs, leg, "none", ranks, false)), 0,
               traced(account, {"contention", "input", "host"}));
  ladder.leave_out("input", "the images are in memory: equal to the rung below");
  ladder.climb("barrier", rung_of(leg_with(epochs, leg, "barrier_only", ranks, false)), 0,
               traced(account, {"wait_static", "wait_jitter"}));
  ladder.climb("strategy", rung_of(&leg), rung_of(one).seconds - plain_at_one,
               traced(account, {"transfer", "evaluation"}));
  const double evaluation = number_in(leg, "evaluate_seconds");
  if (std::isnan(evaluation) || one == nullptr) {
    return ladder.leave_out("evaluation", "no evaluation");
  }
  // After the epoch and with its own barrier: its time comes on top of the epoch's.
  Rung last = rung_of(&leg);
  for (double* seconds : {&last.seconds, &last.low, &last.high}) *seconds += evaluation;
  ladder.climb("evaluation", last, number_in(*one, "evaluate_seconds"), kUnknown);
}

}  // namespace

std::vector<ResultRow> ladder_rows(const std::vector<ResultRow>& epoch_rows,
                                   const std::vector<ResultRow>& scaling_rows) {
  std::vector<ResultRow> rows;
  for (const ResultRow& row : epoch_rows) {
    const std::string& sync = row.get("gradient_sync");
    const bool is_strategy = row.get("rank") == "all" && row.get("ranks") != "1" &&
                             row.get("status") == "ok" && sync != "none" && sync != "barrier_only";
    if (is_strategy) add_ladder(row, epoch_rows, scaling_rows, rows);
  }
  return rows;
}

}  // namespace scalebench
