// SPDX-License-Identifier: Apache-2.0
#include "bench/study/prediction/rows.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>

#include "bench/cli/console.hpp"
#include "bench/cli/quantity.hpp"
#include "bench/study/prediction/band.hpp"
#include "collectives/carries.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

constexpr std::uint64_t kSeed = 1;
constexpr double kTail = 0.025;

/// One case with all that is needed to ask it, and as other draws would have it.
struct Ensemble {
  Ensemble(const PredictionCase& of, const ErrorsLeftOut& left_out, int draws)
      : middle(of), errors(left_out), launches(of.one.launches.size()) {
    for (const EpochLeg& leg : of.legs) launches = std::min(launches, leg.launches.size());
    std::mt19937_64 random(kSeed);
    const auto below = [&random](std::size_t n) { return static_cast<std::size_t>(random() % n); };
    for (int i = 0; i < draws; ++i) others.emplace_back(resampled(of, below));
  }

  /// Around what `middle` says of the step. A draw that has no answer, since its steps would take
  /// no time, is among the shortest. Throws Unavailable where more of them than the tail holds have
  /// none.
  Band band(const Question& question, double step_seconds) const {
    std::vector<double> seconds;
    std::string why;
    for (const Predictor& other : others) {
      try {
        seconds.push_back(other.forecast(question).step_seconds);
      } catch (const Unavailable& reason) {
        seconds.push_back(0);
        why = reason.what();
      }
    }
    std::ranges::sort(seconds);
    Band draws;
    if (!seconds.empty()) {
      const std::size_t last = seconds.size() - 1;
      const auto end = static_cast<std::size_t>(kTail * static_cast<double>(last));
      draws = {seconds[end], seconds[last - end]};
    }
    if (!why.empty() && draws.low == 0) throw Unavailable(why);
    return widened(draws, step_seconds, errors, launches);
  }

  Predictor middle;
  ErrorsLeftOut errors;
  std::size_t launches;  // the fewest that something was measured in
  std::vector<Predictor> others;
};

class Rows {
 public:
  Rows(const CaseOfRun& of, const PredictionQuestions& questions, std::string_view run_id)
      : of_(of), questions_(questions), run_id_(run_id) {}

  ResultRow& add(std::string_view kind, const RankLayout& at, std::string_view what_if = "") {
    ResultRow& row = rows.emplace_back(prediction_schema());
    constexpr std::array<std::string_view, 6> kCopied{"model", "transport", "device",
                                                      "dtype", "dataset",   "scaling"};
    for (const std::string_view column : kCopied) row.set(column, of_.like.get(column));
    row.set("gradient_sync", of_.of.strategy).set("allreduce", of_.of.algorithm);
    row.set("run_id", run_id_).set("origin", "predicted");
    row.set("status", "ok").set("kind", kind).set("what_if", what_if);
    row.set("ranks", at.ranks).set("nodes", at.nodes);
    row.set("case_id", case_id(fmt::format("prediction kind={} of={} sync={} what_if={} link={}",
                                           kind, of_.like.get("case_id"), of_.of.strategy, what_if,
                                           kind == "check" ? "" : questions_.link_text)));
    // Of emulated ranks it says nothing about N devices.
    const std::string& origin = of_.like.get("origin");
    if (origin != "measured") row.add_note("from rows that are " + origin);
    return row;
  }

  void skip(std::string_view kind, const RankLayout& at, std::string_view why,
            std::string_view what_if = "") {
    ResultRow& row = add(kind, at, what_if);
    row.set("status", "skipped").set("note", why);
  }

  std::vector<ResultRow> rows;

 private:
  const CaseOfRun& of_;
  const PredictionQuestions& questions_;
  std::string run_id_;
};

void set_forecast(ResultRow& row, const Forecast& forecast, const Ensemble& by, const Band& band,
                  double h) {
  row.set("batch", forecast.batch);
  row.set("global_batch", forecast.batch * forecast.workers);
  row.set("step_seconds", forecast.step_seconds);
  row.set("step_seconds_low", band.low).set("step_seconds_high", band.high);
  if (!std::isnan(band.low + band.high)) row.set("band", basis_of(by.errors));
  row.set("seconds", forecast.epoch_seconds).set("h_seconds", h);
  const Scaling& scaling = forecast.scaling;
  row.set("ideal_seconds", scaling.ideal_seconds).set("speedup", scaling.speedup);
  row.set("efficiency", scaling.efficiency);
  row.set("efficiency_low", scaling.efficiency * forecast.step_seconds / band.high);
  row.set("efficiency_high", scaling.efficiency * forecast.step_seconds / band.low);
  row.set("compute_seconds", forecast.step.compute_seconds);
  row.set("exposed_seconds", forecast.step.exposed_seconds);
  row.set("hidden_seconds", forecast.step.hidden_seconds);
  row.set("wait_seconds", forecast.wait_seconds);
  row.set("other_seconds", forecast.step.other_seconds);
  row.set("curve", forecast.curve_simulated  ? "simgrid"
                   : forecast.curve_measured ? "measured"
                                             : "model");
}

/// What is said of the measured N by all but the largest.
void add_checks(const CaseOfRun& found, const ErrorsLeftOut& errors, Rows& rows, int draws) {
  const PredictionCase& of = found.of;
  const int largest = of.legs.back().at.ranks;
  const Ensemble ensemble(without(of, largest), errors, draws);
  for (const EpochLeg& leg : of.legs) {
    Forecast forecast;
    Band band;
    try {
      forecast = ensemble.middle.forecast(question_of(leg));
      band = ensemble.band(question_of(leg), forecast.step_seconds);
    } catch (const Unavailable& reason) {
      rows.skip("check", leg.at, reason.what());
      continue;
    }
    ResultRow& row = rows.add("check", leg.at);
    set_forecast(row, forecast, ensemble, band, of.one.middle().seconds);
    const double measured = leg.middle().seconds / leg.steps();
    row.set("measured_step_seconds", measured);
    row.set("measured_efficiency", forecast.scaling.efficiency * forecast.step_seconds / measured);
    row.set("error", forecast.step_seconds / measured - 1);
    // Else the band is that of what is predicted, without the noise of what was measured.
    if (ensemble.errors.is_enough()) {
      row.set("inside", band.low <= measured && measured <= band.high ? 1 : 0);
    }
    row.set("held_out", leg.at.ranks == largest ? 1 : 0);
    if (leg.at.ranks == largest && forecast.curve_measured) {
      row.add_note("its allreduce curve is used: there is no other");
    }
    if (of.strong) row.add_note(ensemble.middle.batch_basis());
  }
}

struct WhatIf {
  std::string name;
  Question question;
};

std::vector<WhatIf> what_ifs(const PredictionCase& of, const Question& base) {
  std::vector<WhatIf> all;
  for (const int times : {2, 10}) {
    Question faster = base;
    if (faster.network.bytes_per_second) {
      *faster.network.bytes_per_second *= times;
    } else {
      faster.network.faster = times;
    }
    all.push_back({fmt::format("network {}x", times), faster});
  }
  if (of.strategy == "bucketed_overlap") {
    Question bigger = base;
    bigger.choices.bucket_bytes *= 4;
    all.push_back({"bucket 4x", bigger});
  }
  if (travel_of(of.strategy).can_be_half_wide) {
    Question half = base;
    half.choices.gradient_bytes = 2;
    all.push_back({"fp16 gradients", half});
  }
  if (travel_of(of.strategy).carrier != Carrier::any_allreduce) return all;
  for (const auto& [name, curve] : of.curves) {
    if (name == of.algorithm || name == base.algorithm) continue;
    Question other = base;
    other.algorithm = name;
    all.push_back({fmt::format("allreduce {}", name), other});
  }
  return all;
}

/// With the fastest measured allreduce that the nodes can have, where they cannot have the case's.
Question carried(const PredictionCase& of, const Predictor& by, Question question) {
  const RankLayout& at = question.at;
  const Carrier carrier = travel_of(of.strategy).carrier;
  const bool stays = at.nodes < 2 || carrier == Carrier::messages ||
                     why_not_carried(of.algorithm, of.transport, at.nodes).empty();
  if (stays) return question;
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
  const PredictionCase& of = found.of;
  if (!question.algorithm.empty() && row.get("kind") == "forecast") {
    row.add_note(fmt::format("{} needs one host: {} is the fastest measured one that does not",
                             of.algorithm, question.algorithm));
  }
  const auto on_several = [](const RankLayout& at) { return at.nodes > 1; };
  const bool assumes = question.network.bytes_per_second && !question.network.seconds_a_step;
  if (assumes && question.at.nodes > 1 && std::ranges::none_of(found.measured, on_several)) {
    row.add_note("--link names no latency: that of one host");
  }
}

void add_forecasts(const CaseOfRun& found, const ErrorsLeftOut& errors,
                   const PredictionQuestions& questions, Rows& rows) {
  const PredictionCase& of = found.of;
  const Ensemble ensemble(of, errors, questions.draws);
  const double h = of.one.middle().seconds;
  const auto answer = [&](const Question& question, std::string_view kind,
                          const std::string& what_if, double base) {
    try {
      const Forecast forecast = ensemble.middle.forecast(question);
      const Band band = ensemble.band(question, forecast.step_seconds);
      ResultRow& row = rows.add(kind, question.at, what_if);
      set_forecast(row, forecast, ensemble, band, h);
      remark_assumptions(row, found, question);
      row.set("link", questions.link_text);
      if (!question.algorithm.empty()) row.set("allreduce", question.algorithm);
      if (base > 0) row.set("change", forecast.step_seconds / base - 1);
      return forecast.step_seconds;
    } catch (const Unavailable& reason) {
      rows.skip(kind, question.at, reason.what(), what_if);
      return std::nan("");
    }
  };
  std::vector<std::pair<Question, double>> bases;
  for (const int ranks : questions.ranks) {
    Question asked{layout_of(ranks, found, questions), questions.link, questions.choices};
    if (asked.at.per_node() > 1) asked.network.within = ensemble.middle.within_a_node();
    const Question question = carried(of, ensemble.middle, asked);
    const double seconds = answer(question, "forecast", "", 0);
    if (!std::isnan(seconds)) bases.emplace_back(question, seconds);
  }
  for (const auto& [question, seconds] : bases) {
    for (const WhatIf& what_if : what_ifs(of, question)) {
      answer(what_if.question, "what_if", what_if.name, seconds);
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
  std::map<std::string, std::pair<ErrorsLeftOut, ErrorsLeftOut>>
      errors;  // by origin: of checks, of forecasts
  std::vector<ResultRow> all;
  for (const CaseOfRun& of : cases) {
    Rows rows(of, questions, run_id);
    if (!of.missing.empty()) {
      for (const int ranks : questions.ranks) {
        rows.skip("forecast", layout_of(ranks, of, questions), of.missing);
      }
    } else {
      const std::string& origin = of.like.get("origin");
      if (!errors.contains(origin)) {
        errors[origin] = {errors_of(cases, origin, true), errors_of(cases, origin, false)};
      }
      add_checks(of, errors[origin].first, rows, questions.draws);
      add_forecasts(of, errors[origin].second, questions, rows);
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

constexpr double kMilli = 1000;

std::string head_of(const ResultRow& row) {
  return fmt::format("{:<14} {:<16} {:<7} {:>5} {:>5} ", printable(row.get("model")),
                     row.get("gradient_sync"), row.get("scaling"), row.get("ranks"),
                     row.get("nodes"));
}

/// "12.34 [12.10, 12.60]", times `factor`.
std::string with_band(const ResultRow& row, const std::string& stem, double factor, int digits) {
  return with_interval(row.get(stem), row.get(stem + "_low"), row.get(stem + "_high"), factor,
                       digits);
}

std::string signed_percent(const std::string& cell) {
  return cell.empty() ? "-" : fmt::format("{:+.1f} %", 100 * std::stod(cell));
}

std::string end_of(const ResultRow& row) {
  return row.get("note").empty() ? "\n" : "  " + printable(row.get("note")) + "\n";
}

std::string skipped(const ResultRow& row) {
  return head_of(row) + fmt::format("not predicted: {}\n", printable(row.get("note")));
}

std::string check_line(const ResultRow& row) {
  return head_of(row) +
         fmt::format("{:>12} {:>28} {:>9}  {:<8}",
                     scaled(row.get("measured_step_seconds"), kMilli, 3),
                     with_band(row, "step_seconds", kMilli, 3), signed_percent(row.get("error")),
                     row.get("held_out") == "1" ? "held out" : "fitted") +
         end_of(row);
}

std::string forecast_line(const ResultRow& row) {
  return head_of(row) +
         fmt::format("{:>28} {:>10} {:>8} {:>24} {:>9} {:>9} {:>9} {:>9}",
                     with_band(row, "step_seconds", kMilli, 3), scaled(row.get("seconds"), 1, 3),
                     scaled(row.get("speedup"), 1, 2), with_band(row, "efficiency", 100, 1) + " %",
                     scaled(row.get("compute_seconds"), kMilli, 3),
                     scaled(row.get("exposed_seconds"), kMilli, 3),
                     scaled(row.get("hidden_seconds"), kMilli, 3),
                     scaled(row.get("wait_seconds"), kMilli, 3)) +
         end_of(row);
}

std::string what_if_line(const ResultRow& row) {
  std::string text = head_of(row) + fmt::format("{:<32} ", row.get("what_if"));
  if (row.get("status") != "ok") return text + printable(row.get("note")) + "\n";
  return text + fmt::format("{:>12} {:>9} {:>8}\n", scaled(row.get("step_seconds"), kMilli, 3),
                            signed_percent(row.get("change")),
                            scaled(row.get("efficiency"), 100, 1) + " %");
}

/// The lines of one kind below `head`, nothing without any.
template <class Line>
std::string part(const std::vector<ResultRow>& rows, std::string_view kind, const std::string& head,
                 Line line) {
  std::string text;
  for (const ResultRow& row : rows) {
    if (row.get("kind") != kind) continue;
    const bool said = row.get("status") == "ok" || kind == "what_if";
    text += said ? line(row) : skipped(row);
  }
  return text.empty() ? text : head + text;
}

}  // namespace

std::string predict_table(const std::vector<ResultRow>& rows) {
  const std::string head =
      fmt::format("{:<14} {:<16} {:<7} {:>5} {:>5} ", "model", "sync", "scaling", "N", "nodes");
  const std::string checks =
      "# predicted against measured: ms a step; everything is fitted without the N that is held "
      "out\n" +
      head + fmt::format("{:>12} {:>28} {:>9}\n", "measured", "predicted", "error");
  const std::string forecasts =
      "# predicted: ms a step [95 %, with the errors on measured N where these are enough], "
      "seconds "
      "an epoch; of a\n# step: compute, exposed and hidden communication, waiting for slower "
      "ranks\n" +
      head +
      fmt::format("{:>28} {:>10} {:>8} {:>24} {:>9} {:>9} {:>9} {:>9}\n", "step", "epoch",
                  "speedup", "efficiency", "compute", "exposed", "hidden", "waiting");
  const std::string changes =
      "# what would change: ms a step, against the prediction above, and the efficiency then\n" +
      head + fmt::format("{:<32} {:>12} {:>9} {:>8}\n", "what if", "step", "change", "effic.");
  std::string table;
  for (const std::string& one :
       {part(rows, "check", checks, check_line), part(rows, "forecast", forecasts, forecast_line),
        part(rows, "what_if", changes, what_if_line)}) {
    if (!table.empty() && !one.empty()) table += "\n";
    table += one;
  }
  return table;
}

}  // namespace scalebench
