// SPDX-License-Identifier: Apache-2.0
#include "bench/study/analysis/tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "bench/cli/quantity.hpp"
#include "bench/record/suspects.hpp"
#include "bench/study/analysis/legs.hpp"
#include "bench/study/analysis/rows.hpp"

namespace scalebench {
namespace {

constexpr std::string_view kSkipped = "skipped: ";

/// A launch that gave no rows, or not all, and why; "skipped: ..." when it was not started.
struct LostLaunch {
  PlannedLaunch launch;
  std::string why;
};

std::vector<LostLaunch> lost_launches(const StoredRun& run,
                                      const std::vector<PlannedLaunch>& plan) {
  std::vector<LostLaunch> lost;
  for (const LaunchRecord& record : run.manifest.launches) {
    const bool skipped = record.status == "skipped";
    const auto planned = std::ranges::find(plan, record.number, &PlannedLaunch::number);
    if (planned == plan.end() || !(skipped || record.status == "failed")) continue;
    lost.push_back({*planned, skipped ? std::string(kSkipped) + record.note : record.note});
  }
  return lost;
}

void note_lost(std::vector<ResultRow>& rows, const std::vector<LostLaunch>& lost) {
  for (ResultRow& row : rows) {
    for (const auto& [launch, why] : lost) {
      if (row.get("status") != "ok" || row.get("entry") != launch.name) continue;
      row.add_note(fmt::format("launch {} is not in it: {}", launch.number, why));
    }
  }
}

/// A row, as of epoch.csv, for each entry of the plan of which it has none.
std::vector<ResultRow> failed_rows(const Manifest& study, const std::vector<LostLaunch>& lost,
                                   const std::vector<ResultRow>& epochs) {
  std::set<std::string> there;
  for (const ResultRow& row : epochs) there.insert(row.get("entry"));
  std::vector<ResultRow> rows;
  for (const auto& [launch, why] : lost) {
    const bool is_leg = launch.program == "bench_epoch" && launch.share_of == 1;
    if (!is_leg || !there.insert(launch.name).second) continue;
    ResultRow& row = rows.emplace_back(epoch_schema());
    row.set("run_id", study.run_id).set("rank", "all").set("share_of", 1);
    row.set("case_id", case_id(launch.name)).set("entry", launch.name);
    row.set("origin", study.origin).set("ranks", launch.ranks);
    if (launch.nodes > 0) row.set("nodes", launch.nodes);
    const bool skipped = why.starts_with(kSkipped);
    row.set("status", skipped ? "skipped" : "failed");
    row.set("note", skipped ? why.substr(kSkipped.size()) : why);
    row.set("model", launch.model).set("gradient_sync", launch.gradient_sync);
    row.set("scaling", launch.scaling).set("allreduce", launch.allreduce);
  }
  return rows;
}

void put(StudyTables& tables, const Schema& schema, std::vector<ResultRow> rows) {
  if (!rows.empty()) tables[std::string(schema.file)] = std::move(rows);
}

}  // namespace

const std::vector<const Schema*>& study_table_schemas() {
  static const std::vector<const Schema*> schemas{
      &allreduce_schema(), &bound_schema(),    &throughput_schema(), &epoch_schema(),
      &summary_schema(),   &scaling_schema(),  &losses_schema(),     &fit_schema(),
      &links_schema(),     &suspects_schema(), &laws_schema()};
  return schemas;
}

std::vector<Leg> imported_legs(const std::vector<ResultRow>& epochs,
                               const std::vector<LaunchRows>& launches) {
  std::vector<Leg> legs = measured_legs(epochs, launches, Sides::apart);
  const bool any = std::ranges::any_of(
      legs, [](const Leg& leg) { return leg.row.get("ranks") != "1" && leg.h_seconds > 0; });
  return any ? legs : std::vector<Leg>();
}

void put_answers(StudyTables& tables, const std::vector<Leg>& legs) {
  put(tables, summary_schema(), summary_rows(legs));
  put(tables, scaling_schema(), scaling_rows(legs));
  put(tables, losses_schema(), loss_rows(legs));
}

StudyTables study_tables(const StoredRun& run, const std::vector<PlannedLaunch>& plan,
                         const FitModel& model) {
  StudyTables tables;
  const std::vector<LostLaunch> lost = lost_launches(run, plan);
  const std::string& run_id = run.manifest.run_id;
  const auto over = [&](const Schema& schema) {
    std::vector<ResultRow> rows = over_launches(run.launches_of(schema), schema);
    note_lost(rows, lost);
    return rows;
  };
  if (run.manifest.import) {
    std::vector<ResultRow> epochs = over(epoch_schema());
    put_answers(tables, imported_legs(epochs, run.launches_of(epoch_schema())));
    put(tables, epoch_schema(), std::move(epochs));
    put(tables, allreduce_schema(), over(allreduce_schema()));
    put(tables, throughput_schema(), over(throughput_schema()));
    return tables;
  }
  std::vector<ResultRow> allreduce = over(allreduce_schema());
  put(tables, fit_schema(), fit_rows(fits_of(points_of(allreduce), model), run_id));
  put(tables, allreduce_schema(), std::move(allreduce));

  std::vector<ResultRow> throughput = over(throughput_schema());
  relate_to_one_rank(throughput, run.launches_of(throughput_schema()));
  put(tables, throughput_schema(), std::move(throughput));

  std::vector<ResultRow> epoch = over(epoch_schema());
  const std::vector<LaunchRows>& launches = run.launches_of(epoch_schema());
  put(tables, laws_schema(), law_rows(scalings_of(epoch, launches)));
  std::vector<ResultRow> legs = epoch;
  std::ranges::move(failed_rows(run.manifest, lost, epoch), std::back_inserter(legs));
  put_answers(tables, measured_legs(legs, launches, Sides::in_rounds));
  put(tables, epoch_schema(), std::move(epoch));

  put(tables, bound_schema(), middle_rows(run.beside_of(bound_schema()), "seconds"));
  put(tables, links_schema(), link_rows(run.beside_of(links_schema())));
  put(tables, suspects_schema(), suspect_rows(run.beside_of(suspects_schema())));
  return tables;
}

std::string rate_of(const ResultRow& row) {
  const auto rate = [&](std::string_view column, std::string_view low, std::string_view high,
                        int digits, std::string_view unit) {
    const std::string cell = text_in(row, column);
    if (cell.empty()) return std::string();
    return with_interval(cell, text_in(row, low), text_in(row, high), 1, digits) + " " +
           std::string(unit);
  };
  return rate("busbw_gb_per_s", "busbw_ci_low_gb_per_s", "busbw_ci_high_gb_per_s", 3,
              "GB/s busbw") +
         rate("images_per_s", "images_per_s_ci_low", "images_per_s_ci_high", 1, "images/s") +
         rate("gb_per_s", "", "", 3, "GB/s");
}

}  // namespace scalebench
