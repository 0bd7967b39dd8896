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
#include "bench/study/fit/fit.hpp"

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

void note_lost(std::vector<Cell>& cells, const std::vector<LostLaunch>& lost) {
  for (Cell& cell : cells) {
    for (const auto& [launch, why] : lost) {
      if (cell.row.get("status") != "ok" || cell.row.get("entry") != launch.name) continue;
      cell.row.add_note(fmt::format("launch {} is not in it: {}", launch.number, why));
    }
  }
}

/// A cell, as of epoch.csv, for each entry of the plan that has none.
void add_failed(std::vector<Cell>& epochs, const std::vector<LostLaunch>& lost,
                const Manifest& study) {
  std::set<std::string> there;
  for (const Cell& cell : epochs) there.insert(cell.row.get("entry"));
  for (const auto& [launch, why] : lost) {
    const bool is_leg = launch.program == "bench_epoch" && launch.share_of == 1;
    if (!is_leg || !there.insert(launch.name).second) continue;
    ResultRow row(epoch_schema());
    row.set("run_id", study.run_id).set("share_of", 1);
    row.set("case_id", case_id(launch.name)).set("entry", launch.name);
    row.set("origin", study.origin).set("ranks", launch.ranks);
    row.set("nodes", launch.nodes);
    const bool skipped = why.starts_with(kSkipped);
    row.set("status", skipped ? "skipped" : "failed");
    row.set("note", skipped ? why.substr(kSkipped.size()) : why);
    row.set("model", launch.model).set("gradient_sync", launch.gradient_sync);
    row.set("scaling", launch.scaling).set("allreduce", launch.allreduce);
    epochs.push_back({"", CellFamily::epoch, row, {}, {}, row.get("status"), row.get("note")});
  }
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

std::vector<Leg> imported_legs(const std::vector<Cell>& epochs) {
  std::vector<Leg> legs = measured_legs(epochs);
  const bool any = std::ranges::any_of(
      legs, [](const Leg& leg) { return leg.row.get("ranks") != "1" && leg.h_seconds > 0; });
  return any ? legs : std::vector<Leg>();
}

void put_answers(StudyTables& tables, const std::vector<Leg>& legs) {
  put(tables, summary_schema(), summary_rows(legs));
  put(tables, scaling_schema(), scaling_rows(legs));
  put(tables, losses_schema(), loss_rows(legs));
}

StudyTables study_tables(const StoredRun& run, const std::vector<PlannedLaunch>& plan) {
  StudyTables tables;
  const std::vector<LostLaunch> lost = lost_launches(run, plan);
  const auto cells_in = [&](const Schema& schema) {
    std::vector<Cell> cells = cells_of(run.launches_of(schema));
    note_lost(cells, lost);
    return cells;
  };
  std::vector<Cell> allreduce = cells_in(allreduce_schema());
  std::vector<Cell> throughput = cells_in(throughput_schema());
  std::vector<Cell> epoch = cells_in(epoch_schema());
  put(tables, epoch_schema(), rows_of(epoch));
  if (run.manifest.import) {
    put_answers(tables, imported_legs(epoch));
  } else {
    relate_to_native(allreduce);
    relate_to_one_rank(throughput);
    put(tables, fits_schema(), fit_rows(rows_of(allreduce), run.manifest.run_id));
    add_failed(epoch, lost, run.manifest);
    put_answers(tables, measured_legs(epoch));
    put(tables, hosts_schema(), host_rows(run.hosts));
  }
  put(tables, allreduce_schema(), rows_of(allreduce));
  put(tables, throughput_schema(), rows_of(throughput));
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
