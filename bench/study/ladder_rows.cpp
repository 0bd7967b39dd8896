// SPDX-License-Identifier: Apache-2.0
#include "bench/study/ladder_rows.hpp"

#include <array>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>

#include "bench/study/collect.hpp"
#include "bench/study/loss_columns.hpp"

namespace scalebench {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
constexpr double kMostWidths = 2;  // that two ways to the same loss may differ by

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
    constexpr std::array<std::string_view, 16> kCopied{
        "schema_version", "run_id",    "case_id",   "origin", "status",  "model",
        "gradient_sync",  "allreduce", "transport", "device", "dataset", "scaling",
        "global_batch",   "batch",     "ranks",     "nodes"};
    ResultRow& row = rows_.emplace_back(ladder_schema());
    for (const std::string_view column : kCopied) row.set(column, leg_.get(column));
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
