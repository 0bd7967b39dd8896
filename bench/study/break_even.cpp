// SPDX-License-Identifier: Apache-2.0
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "bench/study/collect.hpp"
#include "bench/study/cost.hpp"

namespace scalebench {
namespace {

// Epochs whose images differ by more are other work.
constexpr double kSameWork = 0.01;

/// What of a strategy is compared; N = 1 of every strategy is one_device's.
struct Strategy {
  std::string model, gradient_sync, dataset, scaling;
  auto operator<=>(const Strategy&) const = default;
};

/// The best row of each N by one column.
using Curve = std::map<int, const ResultRow*>;

bool is_alone(const std::string& sync) { return sync == "one_device" || sync == "none"; }

std::set<Strategy> strategies_of(const std::vector<ResultRow>& costs) {
  std::set<Strategy> all;
  for (const ResultRow& row : costs) {
    if (row.get("status") != "ok" || is_alone(row.get("gradient_sync"))) continue;
    all.insert(
        {row.get("model"), row.get("gradient_sync"), row.get("dataset"), row.get("scaling")});
  }
  if (!all.empty()) return all;
  for (const ResultRow& row : costs) {
    if (row.get("status") == "ok" && row.get("gradient_sync") == "one_device") {
      all.insert({row.get("model"), "one_device", row.get("dataset"), row.get("scaling")});
    }
  }
  return all;
}

Curve curve_of(const std::vector<ResultRow>& costs, const Strategy& strategy,
               std::string_view column) {
  Curve curve;
  for (const ResultRow& row : costs) {
    const std::string& sync = row.get("gradient_sync");
    const int ranks = static_cast<int>(number_in(row, "ranks"));
    const bool its = row.get("status") == "ok" && row.get("model") == strategy.model &&
                     row.get("dataset") == strategy.dataset &&
                     row.get("scaling") == strategy.scaling &&
                     (sync == strategy.gradient_sync || (sync == "one_device" && ranks == 1));
    if (!its) continue;
    const ResultRow*& best = curve[ranks];
    if (best == nullptr || number_in(row, column) < number_in(*best, column)) best = &row;
  }
  return curve;
}

bool same_work(const ResultRow& a, const ResultRow& b) {
  return std::abs(number_in(a, "samples") / number_in(b, "samples") - 1) <= kSameWork;
}

/// Whether the intervals of that column meet; unknown ones do not.
bool overlap(const ResultRow& a, const ResultRow& b, const std::string& column) {
  const std::string stem = column == "seconds_median" ? "seconds" : column;
  return number_in(b, stem + "_ci_high") >= number_in(a, stem + "_ci_low");
}

std::string origin_of(const ResultRow& a, const ResultRow& b) {
  const std::string &of_a = a.get("origin"), &of_b = b.get("origin");
  if (of_a == of_b) return of_a;
  return of_a == "predicted" || of_b == "predicted" ? "predicted" : "";
}

ResultRow break_even(const Strategy& strategy, const Curve& a, const Curve& b,
                     const std::string& column) {
  ResultRow row(break_even_schema());
  const ResultRow &any_a = *a.begin()->second, &any_b = *b.begin()->second;
  row.set("schema_version", kSchemaVersion).set("run_id", any_b.get("run_id"));
  row.set("case_id", any_b.get("case_id")).set("origin", any_b.get("origin")).set("status", "ok");
  row.set("baseline_run", any_a.get("run_id")).set("instance_a", any_a.get("instance"));
  row.set("instance_b", any_b.get("instance")).set("model", strategy.model);
  row.set("gradient_sync", strategy.gradient_sync).set("dataset", strategy.dataset);
  row.set("scaling", strategy.scaling);
  row.set("criterion", column == "seconds_median" ? "seconds" : column);
  std::vector<int> compared;
  for (const auto& [ranks, of_a] : a) {
    const auto found = b.find(ranks);
    if (found == b.end() || !same_work(*of_a, *found->second)) continue;
    const ResultRow& of_b = *found->second;
    if (origin_of(*of_a, of_b).empty()) continue;
    row.set("origin", origin_of(*of_a, of_b));
    compared.push_back(ranks);
    const bool found_before = !row.get("ranks").empty();
    if (found_before) continue;
    row.set("value_a", number_in(*of_a, column)).set("value_b", number_in(of_b, column));
    if (!(number_in(of_b, column) < number_in(*of_a, column))) continue;
    row.set("ranks", ranks);
    if (overlap(*of_a, of_b, column)) row.set("note", "their intervals overlap there");
  }
  row.set("ranks_compared", fmt::format("{}", fmt::join(compared, ";")));
  if (compared.empty())
    return row.set("status", "skipped").set("note", "no N with the same work and origin in common");
  if (row.get("ranks").empty()) row.set("note", "never within the measured N");
  return row;
}

}  // namespace

std::vector<ResultRow> break_even_rows(const std::vector<ResultRow>& a,
                                       const std::vector<ResultRow>& b) {
  std::vector<ResultRow> rows;
  for (const Strategy& strategy : strategies_of(a)) {
    for (const char* const column : {"usd_per_epoch", "seconds_median"}) {
      const Curve of_a = curve_of(a, strategy, column), of_b = curve_of(b, strategy, column);
      if (!of_a.empty() && !of_b.empty()) rows.push_back(break_even(strategy, of_a, of_b, column));
    }
  }
  return rows;
}

}  // namespace scalebench
