// SPDX-License-Identifier: Apache-2.0
#include "bench/study/night_record.hpp"

#include <algorithm>
#include <cmath>

#include "bench/record/result_row.hpp"
#include "bench/study/environment_changes.hpp"

namespace scalebench {
namespace {

using nlohmann::json;

json nullable(const std::string& text) { return text.empty() ? json(nullptr) : json(text); }
json nullable(double value) { return std::isfinite(value) ? json(value) : json(nullptr); }

template <class T>
json nullable(const std::optional<T>& value) {
  return value ? json(*value) : json(nullptr);
}

json counts_of(const GateReport& report) {
  json counts;
  std::size_t not_expected = report.count(GateVerdict::skipped);
  counts["expected"] = report.cells.size() - not_expected;
  counts["tested"] = report.tested();
  for (int i = 0; i <= static_cast<int>(GateVerdict::excluded); ++i) {
    const auto verdict = static_cast<GateVerdict>(i);
    std::string name(name_of(verdict));
    std::ranges::transform(name, name.begin(), [](char c) { return static_cast<char>(c | 0x20); });
    counts[name] = report.count(verdict);
  }
  return counts;
}

json host_shift_of(const GateReport& report) {
  if (report.test.shift_cells == 0) return nullptr;
  return {{"change", std::expm1(report.test.shift)},
          {"cells", report.test.shift_cells},
          {"drift", report.host_drift.found ? json(report.host_drift.change) : json(nullptr)},
          {"alarm", report.host_alarm()}};
}

json json_of(const std::vector<FactChange>& changes) {
  json list = json::array();
  for (const FactChange& change : changes) {
    list.push_back({{"field", change.field}, {"before", change.before}, {"after", change.after}});
  }
  return list;
}

json changes_of(const Manifest& run, const std::optional<Manifest>& previous) {
  json changes{{"commit",
                {{"before", previous ? nullable(previous->tool.commit) : json(nullptr)},
                 {"after", nullable(run.tool.commit)},
                 {"dirty", nullable(run.tool.dirty)}}},
               {"treatment", json::array()},
               {"observation", json::array()},
               {"config", json::array()}};
  if (!previous) return changes;
  const Environment& before = previous->environment;
  changes["treatment"] = json_of(changes_of(before.treatment, run.environment.treatment));
  changes["observation"] = json_of(changes_of(before.observation, run.environment.observation));
  changes["config"] = line_changes(previous->config, run.config);
  return changes;
}

json self_checks_of(const NightRecord& night, const GateReport& report) {
  json aa = nullptr;
  if (night.aa) {
    aa = {{"run", night.aa->run},
          {"cells", night.aa->cells},
          {"differing", night.aa->differing},
          {"spread", nullable(night.aa->spread)},
          {"smallest_effect", nullable(night.aa->smallest_effect)}};
  }
  json blind = json::array();
  for (const std::size_t c : report.injected.blind) {
    const NightCell& cell = report.cells.at(c).cell;
    blind.push_back(cell.is_time() ? cell.label : cell.label + " " + cell.metric);
  }
  const std::size_t worse =
      report.count(GateVerdict::regressed) + report.count(GateVerdict::confirmed);
  return {{"aa", std::move(aa)},
          {"injected",
           {{"change", kInjectedChange},
            {"tested", report.injected.tested},
            {"caught", report.injected.caught},
            {"blind", std::move(blind)}}},
          {"flags",
           {{"regressed", worse},
            {"improved", report.count(GateVerdict::improved)},
            {"jaccard_with_previous", nullable(report.jaccard)}}}};
}

json annotations_of(const Annotations& annotations) {
  json list = json::array();
  const auto add = [&](const char* kind, const Annotation& annotation) {
    list.push_back(
        {{"kind", kind},
         {"run", annotation.run},
         {"cells", std::string(kind) == "accepted" ? json(annotation.cells) : json(nullptr)},
         {"reason", annotation.reason}});
  };
  for (const Annotation& annotation : annotations.accepted) add("accepted", annotation);
  for (const Annotation& annotation : annotations.excluded) add("excluded", annotation);
  if (annotations.pinned) add("pinned", *annotations.pinned);
  return list;
}

json steps_of(const std::vector<NightStep>& steps) {
  json list = json::array();
  for (const NightStep& step : steps) {
    list.push_back({{"name", step.name},
                    {"status", step.status},
                    {"seconds", nullable(step.seconds)},
                    {"note", step.note}});
  }
  return list;
}

/// What only the night itself could know: its schedule, its doctor, what it measured when.
void keep_from_before(json& now, const json& before) {
  if (!before.is_object()) return;
  for (const char* const name : {"doctor", "scheduled_utc"}) {
    if (now[name].empty() && before.contains(name)) now[name] = before[name];
  }
  json steps = json::array();
  for (const json& step : before.value("steps", json::array())) {
    const std::string name = step.is_object() ? step.value("name", "") : "";
    if (name != "analyse" && name != "report" && name != "publish") steps.push_back(step);
  }
  steps.insert(steps.end(), now["steps"].begin(), now["steps"].end());
  now["steps"] = std::move(steps);
}

json failures_of(const std::vector<FailedLaunch>& launches) {
  json list = json::array();
  for (const FailedLaunch& launch : launches) {
    list.push_back({{"number", launch.number},
                    {"name", launch.name},
                    {"why", launch.why},
                    {"stderr_tail", launch.stderr_tail}});
  }
  return list;
}

json doctor_of(const std::vector<Finding>& findings) {
  json list = json::array();
  for (const Finding& finding : findings) {
    const char* const level = finding.level == Finding::ok        ? "ok"
                              : finding.level == Finding::warning ? "warning"
                                                                  : "missing";
    list.push_back({{"level", level},
                    {"what", finding.subject},
                    {"text", finding.text},
                    {"remedy", finding.remedy}});
  }
  return list;
}

}  // namespace

json json_of(const NightRecord& night, const GateInput& input, const GateReport& report) {
  const RunHistory& history = input.history;
  json left_out = json::array();
  for (const LeftOut& run : history.left_out) {
    left_out.push_back({{"run", run.run_id}, {"why", run.why}});
  }
  json all{
      {"schema_version", kSchemaVersion},
      {"night", night.run.run_id},
      {"run", night.run.run_id},
      {"rerun", nullable(report.rerun_run)},
      {"started_utc", night.run.started_utc},
      {"finished_utc", nullable(night.finished_utc)},
      {"scheduled_utc", nullable(night.scheduled_utc)},
      {"host", night.host},
      {"study", night.run.study},
      {"verdict", night.verdict.word},
      {"exit_code", night.verdict.exit_code},
      {"states", night.verdict.states},
      {"summary", night.verdict.summary},
      {"counts", counts_of(report)},
      {"previous_run", history.nights.empty() ? json(nullptr) : json(history.nights.back().run_id)},
      {"pinned_run", history.pinned ? json(history.pinned->run_id) : json(nullptr)},
      {"baseline_runs", report.baseline_runs},
      {"left_out", std::move(left_out)},
      {"host_shift", host_shift_of(report)},
      {"changes", changes_of(night.run, history.previous)},
      {"self_checks", self_checks_of(night, report)},
      {"steps", steps_of(night.steps)},
      {"failed_launches", failures_of(night.failed_launches)},
      {"annotations", annotations_of(input.annotations)},
      {"doctor", doctor_of(night.doctor)}};
  keep_from_before(all, night.before);
  return all;
}

}  // namespace scalebench
