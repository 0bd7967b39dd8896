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
#include "bench/study/analysis/pairs.hpp"
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
    row.set("run_id", study.run_id).set("share_of", 1);
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
      &allreduce_schema(), &throughput_schema(), &epoch_schema(), &summary_schema(),
      &scaling_schema(),   &losses_schema(),     &fits_schema(),  &hosts_schema()};
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
  relate_to_native(allreduce, run.launches_of(allreduce_schema()));

  std::vector<ResultRow> throughput = over(throughput_schema());
  relate_to_one_rank(throughput, run.launches_of(throughput_schema()));
  put(tables, throughput_schema(), std::move(throughput));

  std::vector<ResultRow> epoch = over(epoch_schema());
  const std::vector<LaunchRows>& launches = run.launches_of(epoch_schema());
  put(tables, fits_schema(), fit_rows(allreduce, model, scalings_of(epoch, launches), run_id));
  put(tables, allreduce_schema(), std::move(allreduce));
  std::vector<ResultRow> legs = epoch;
  std::ranges::move(failed_rows(run.manifest, lost, epoch), std::back_inserter(legs));
  put_answers(tables, measured_legs(legs, launches, Sides::in_rounds));
  put(tables, epoch_schema(), std::move(epoch));

  put(tables, hosts_schema(), host_rows(run.hosts));
  return tables;
}

std::string rate_of(const ResultRow& row) {
  const auto rate = [&](std::string_view column, const std::string& low, const std::string& high,
                        int digits, std::string_view unit) {
    const std::string cell = text_in(row, column);
    if (cell.empty()) return std::string();
    return with_interval(cell, low, high, 1, digits) + " " + std::string(unit);
  };
  // The ends of a bandwidth's interval are those of the time.
  const auto of_time = [&](const char* end) {
    if (text_in(row, "busbw_gb_per_s").empty() || text_in(row, end).empty()) return std::string();
    return fmt::format("{}", number_in(row, "busbw_gb_per_s") * number_in(row, "seconds_median") /
                                 number_in(row, end));
  };
  return rate("busbw_gb_per_s", of_time("seconds_ci_high"), of_time("seconds_ci_low"), 3,
              "GB/s busbw") +
         rate("images_per_s", text_in(row, "images_per_s_ci_low"),
              text_in(row, "images_per_s_ci_high"), 1, "images/s") +
         rate("gb_per_s", "", "", 3, "GB/s");
}

std::string native_of(const ResultRow& row) {
  if (text_in(row, "native_ratio").empty()) return "";
  const auto number = [&](const char* end) {
    return fmt::format("{:.2f}", number_in(row, fmt::format("native_ratio{}", end)));
  };
  const std::string interval =
      row.get("native_ratio_ci_low").empty()
          ? ""
          : fmt::format(" [{}, {}]", number("_ci_low"), number("_ci_high"));
  return fmt::format("  {}x native{} {}", number(""), interval, row.get("native_verdict"));
}

std::string rates_heading(const std::vector<const ResultRow*>& rows) {
  const auto cells = static_cast<std::size_t>(std::ranges::count_if(
      rows, [](const ResultRow* row) { return !text_in(*row, "native_ratio").empty(); }));
  if (cells == 0) return "rate [interval]";
  return fmt::format(
      "rate [interval]  x native: how many times as fast; to tell {} cells takes {} rounds", cells,
      launches_needed(cells, /*paired=*/true));
}

}  // namespace scalebench
