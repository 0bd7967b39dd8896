// SPDX-License-Identifier: Apache-2.0
#include "bench/study/prediction/rows.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "bench/cli/console.hpp"
#include "bench/cli/quantity.hpp"
#include "collectives/carries.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

class Rows {
 public:
  explicit Rows(const CaseOfRun& of, std::string_view run_id) : of_(of), run_id_(run_id) {}

  ResultRow& add(std::string_view kind, const RankLayout& at) {
    ResultRow& row = rows.emplace_back(prediction_schema());
    for (const char* column : {"case_id", "model", "gradient_sync", "scaling"}) {
      row.set(column, of_.like.get(column));
    }
    row.set("run_id", run_id_).set("origin", "predicted").set("status", "ok").set("kind", kind);
    row.set("ranks", at.ranks).set("nodes", at.nodes);
    // Of emulated ranks it says nothing about N devices.
    const std::string& origin = of_.like.get("origin");
    if (origin != "measured") row.add_note("from rows that are " + origin);
    return row;
  }

  void skip(std::string_view kind, const RankLayout& at, std::string_view why) {
    add(kind, at).set("status", "skipped").set("note", why);
  }

  std::vector<ResultRow> rows;

 private:
  const CaseOfRun& of_;
  std::string run_id_;
};

void set_forecast(ResultRow& row, const Forecast& forecast, const ErrorsLeftOut& errors) {
  row.set("step_seconds", forecast.step_seconds).set("seconds", forecast.epoch_seconds);
  row.set("compute_seconds", forecast.step.compute_seconds);
  row.set("exposed_seconds", forecast.step.exposed_seconds);
  row.set("wait_seconds", forecast.wait_seconds);
  const double reach = errors.reach();
  row.set("efficiency", forecast.efficiency);
  row.set("efficiency_low", forecast.efficiency * std::exp(-reach));
  row.set("efficiency_high", forecast.efficiency * std::exp(reach));
  row.set("network", forecast.curve_measured ? "measured" : "model");
}

/// What is said of the measured N by all but the largest.
void add_checks(const PredictionCase& of, const ErrorsLeftOut& errors, Rows& rows) {
  const int largest = of.legs.back().at.ranks;
  const Predictor predictor(without(of, largest));
  for (const EpochLeg& leg : of.legs) {
    const char* const kind = leg.at.ranks == largest ? "held_out" : "fitted";
    try {
      const Forecast forecast = predictor.forecast({leg.at});
      ResultRow& row = rows.add(kind, leg.at);
      set_forecast(row, forecast, errors);
      const double measured = leg.middle().seconds / leg.steps();
      row.set("measured_efficiency", forecast.efficiency * forecast.step_seconds / measured);
      row.set("error", forecast.step_seconds / measured - 1);
      if (leg.at.ranks == largest && forecast.curve_measured) {
        row.add_note("its allreduce curve is used: there is no other");
      }
      if (of.strong) row.add_note(predictor.batch_basis());
    } catch (const Unavailable& reason) {
      rows.skip(kind, leg.at, reason.what());
    }
  }
}

/// With the fastest measured allreduce that the nodes can have, where they cannot have the case's.
Question carried(const PredictionCase& of, const Predictor& by, Question question) {
  const RankLayout& at = question.at;
  const Carrier carrier = carrier_of(of.strategy);
  if (at.nodes < 2 || why_not_carried(of.algorithm, of.transport, at.nodes).empty()) {
    return question;
  }
  // The halves of an allreduce are a ring's, or within nodes first.
  const bool nodes_first = carrier == Carrier::halves_within_nodes_first && at.per_node() > 1;
  const std::string_view halves = nodes_first ? "hierarchical" : "ring";
  double shortest = std::numeric_limits<double>::infinity();
  Question best = question;
  for (const auto& [name, curve] : of.curves) {
    if (carrier != Carrier::any_allreduce && name != halves) continue;
    question.algorithm = name;
    try {
      const double seconds = by.forecast(question).step_seconds;
      if (seconds >= shortest) continue;
      shortest = seconds;
      best = question;
    } catch (const Unavailable&) {  // nor can they have this one
    }
  }
  return best;
}

/// What a forecast takes for granted that no column says.
void remark_assumptions(ResultRow& row, const CaseOfRun& found, const Question& question) {
  if (!question.algorithm.empty()) {
    row.add_note(fmt::format("{} needs one host: {} is the fastest measured one that does not",
                             found.of.algorithm, question.algorithm));
  }
  const auto on_several = [](const RankLayout& at) { return at.nodes > 1; };
  const bool assumes = question.network.bytes_per_second && !question.network.seconds_a_step;
  if (assumes && question.at.nodes > 1 && std::ranges::none_of(found.measured, on_several)) {
    row.add_note("--link names no latency: that of one host");
  }
  if (row.get("efficiency_low").empty()) {
    row.add_note("no band: too few N were measured to tell how far predictions are off");
  }
}

void add_forecasts(const CaseOfRun& found, const ErrorsLeftOut& errors,
                   const PredictionQuestions& questions, Rows& rows) {
  const Predictor predictor(found.of);
  for (const int ranks : questions.ranks) {
    Question asked{layout_of(ranks, found, questions), questions.link};
    if (asked.at.per_node() > 1) asked.network.within = predictor.within_a_node();
    const Question question = carried(found.of, predictor, asked);
    try {
      const Forecast forecast = predictor.forecast(question);
      ResultRow& row = rows.add("forecast", question.at);
      set_forecast(row, forecast, errors);
      if (!questions.link_text.empty()) row.set("network", questions.link_text);
      remark_assumptions(row, found, question);
    } catch (const Unavailable& reason) {
      rows.skip("forecast", question.at, reason.what());
    }
  }
}

}  // namespace

RankLayout layout_of(int ranks, const CaseOfRun& of, const PredictionQuestions& questions) {
  double per_node = 0;
  for (const RankLayout& at : of.measured) {
    if (at.nodes > 1) per_node = std::max(per_node, at.per_node());
  }
  if (questions.link.bytes_per_second && per_node == 0) per_node = 1;
  if (questions.per_node) per_node = *questions.per_node;
  if (per_node == 0) return {ranks, 1};
  return {ranks, static_cast<int>(std::ceil(ranks / per_node))};
}

namespace {

/// Of all cases of an origin; `held_out`: as if the largest N of each had not been measured.
ErrorsLeftOut errors_of(const std::vector<CaseOfRun>& cases, const std::string& origin,
                        bool held_out) {
  ErrorsLeftOut all;
  for (const CaseOfRun& one : cases) {
    if (!one.missing.empty() || one.like.get("origin") != origin) continue;
    all.add(left_out(held_out ? without(one.of, one.of.legs.back().at.ranks) : one.of));
  }
  return all;
}

}  // namespace

std::vector<ResultRow> prediction_rows(const std::vector<CaseOfRun>& cases,
                                       const PredictionQuestions& questions,
                                       std::string_view run_id) {
  std::vector<ResultRow> all;
  for (const CaseOfRun& of : cases) {
    Rows rows(of, run_id);
    if (!of.missing.empty()) {
      for (const int ranks : questions.ranks) {
        rows.skip("forecast", layout_of(ranks, of, questions), of.missing);
      }
    } else {
      const std::string& origin = of.like.get("origin");
      add_checks(of.of, errors_of(cases, origin, /*held_out=*/true), rows);
      add_forecasts(of, errors_of(cases, origin, /*held_out=*/false), questions, rows);
    }
    std::ranges::move(rows.rows, std::back_inserter(all));
  }
  return all;
}

int largest_measured(const std::vector<CaseOfRun>& cases) {
  int largest = 0;
  for (const CaseOfRun& one : cases) {
    for (const RankLayout& at : one.measured) largest = std::max(largest, at.ranks);
  }
  return largest;
}

namespace {

std::string head_of(const ResultRow& row) {
  return fmt::format("{:<14} {:<16} {:<7} {:>5} {:>5} ", printable(row.get("model")),
                     row.get("gradient_sync"), row.get("scaling"), row.get("ranks"),
                     row.get("nodes"));
}

std::string efficiency_of(const ResultRow& row) {
  return with_interval(row.get("efficiency"), row.get("efficiency_low"), row.get("efficiency_high"),
                       100, 1) +
         " %";
}

std::string check_cells(const ResultRow& row) {
  return fmt::format("{:>10} {:>24} {:>+9.1f} %  {:<8}", percent(row.get("measured_efficiency")),
                     efficiency_of(row), 100 * number_in(row, "error"),
                     row.get("kind") == "held_out" ? "held out" : "fitted");
}

std::string forecast_cells(const ResultRow& row) {
  constexpr double kMilli = 1000;
  std::string cells = fmt::format("{:>24} {:>8.2f} {:>10}", efficiency_of(row),
                                  number_in(row, "efficiency") * number_in(row, "ranks"),
                                  scaled(row.get("seconds"), 1, 3));
  for (const char* column :
       {"step_seconds", "compute_seconds", "exposed_seconds", "wait_seconds"}) {
    cells += fmt::format(" {:>9}", scaled(row.get(column), kMilli, 3));
  }
  return cells;
}

/// The lines of those kinds below `title` and the names of columns; nothing without any.
template <class Is, class Cells>
std::string part(const std::vector<ResultRow>& rows, Is is, const std::string& title, Cells cells) {
  std::string text;
  for (const ResultRow& row : rows) {
    if (!is(row.get("kind"))) continue;
    const std::string note = printable(row.get("note"));
    text += head_of(row);
    text += row.get("status") == "ok" ? cells(row) + (note.empty() ? "" : "  " + note)
                                      : "not predicted: " + note;
    text += "\n";
  }
  return text.empty() ? text : title + text;
}

}  // namespace

std::string predict_table(const std::vector<ResultRow>& rows) {
  const std::string head =
      fmt::format("{:<14} {:<16} {:<7} {:>5} {:>5} ", "model", "sync", "scaling", "N", "nodes");
  const std::string checks =
      "# efficiency, predicted against measured; everything is fitted without the N that is held "
      "out\n" +
      head + fmt::format("{:>10} {:>24} {:>11}\n", "measured", "predicted", "of a step");
  const std::string forecasts =
      "# predicted: efficiency [95 %, by the errors on measured N], seconds an epoch; ms a step, "
      "and of it\n# compute, communication that nothing hides, waiting for slower ranks\n" +
      head +
      fmt::format("{:>24} {:>8} {:>10} {:>9} {:>9} {:>9} {:>9}\n", "efficiency", "speedup", "epoch",
                  "step", "compute", "exposed", "waiting");
  const auto is_forecast = [](const std::string& kind) { return kind == "forecast"; };
  const std::string said = part(rows, std::not_fn(is_forecast), checks, check_cells);
  const std::string asked = part(rows, is_forecast, forecasts, forecast_cells);
  return said + (said.empty() || asked.empty() ? "" : "\n") + asked;
}

}  // namespace scalebench
