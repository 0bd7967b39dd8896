// SPDX-License-Identifier: Apache-2.0
#include "bench/study/night_verdict.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace scalebench {
namespace {

constexpr int kPass = 0, kRegression = 1, kIncomplete = 3, kNothing = 4;

std::size_t measured(const GateReport& report) {
  return static_cast<std::size_t>(std::ranges::count_if(report.cells, [](const GateCell& cell) {
    return !std::isnan(cell.values.back()) && cell.verdict != GateVerdict::excluded;
  }));
}

std::size_t unanswered(const GateReport& report) {
  return static_cast<std::size_t>(std::ranges::count_if(
      report.suspects(),
      [](const GateCell* const cell) { return cell->verdict == GateVerdict::ambiguous; }));
}

std::string counted(std::size_t count, std::string_view what) {
  return fmt::format("{} {}", count, what);
}

/// "3 regressed, 1 missing of 40 cells"; what is not there is not named.
std::string counts_of(const GateReport& report) {
  std::vector<std::string> parts;
  constexpr std::pair<GateVerdict, std::string_view> kNamed[] = {
      {GateVerdict::confirmed, "confirmed regressions"},
      {GateVerdict::regressed, "regressed"},
      {GateVerdict::drift, "drifting"},
      {GateVerdict::ambiguous, "ambiguous"},
      {GateVerdict::missing, "missing"},
      {GateVerdict::invalid, "invalid"},
      {GateVerdict::improved, "improved"},
      {GateVerdict::insufficient, "without enough nights"}};
  for (const auto& [verdict, what] : kNamed) {
    if (const std::size_t count = report.count(verdict); count > 0) {
      parts.push_back(counted(count, what));
    }
  }
  std::string text = fmt::format("{} of {} cells tested", report.tested(), report.cells.size());
  if (!parts.empty()) text += fmt::format(": {}", fmt::join(parts, ", "));
  return text;
}

std::string host_sentence(const GateReport& report) {
  if (report.test.host_alarm()) {
    return fmt::format("all cells together {:+.1f} %: the host, not one case. ",
                       100 * std::expm1(report.test.shift));
  }
  return fmt::format("all cells together have drifted {:+.1f} %: the host. ",
                     100 * report.host_drift.change);
}

}  // namespace

NightVerdict verdict_of(const GateReport& report, std::size_t failed_launches, bool partial,
                        const FailOn& fail_on) {
  NightVerdict verdict;
  const auto holds = [&](const std::string& state, bool is) {
    if (is) verdict.states.push_back(state);
    return is;
  };
  const auto fails = [&](std::string_view state) { return fail_on.states.contains(state); };

  if (holds("nothing measured", measured(report) == 0 || !report.overlaps)) {
    verdict.word = "NOTHING MEASURED";
    verdict.exit_code = kNothing;
    verdict.summary = report.count(GateVerdict::excluded) > 0 ? "this run is excluded"
                      : measured(report) == 0
                          ? "not one cell was measured"
                          : "not one cell in common with the nights before: nothing was compared";
    return verdict;
  }
  const std::size_t slower = report.count(GateVerdict::regressed) +
                             report.count(GateVerdict::confirmed) +
                             report.count(GateVerdict::drift);
  // A suspect that nobody measured again leaves the night without its answer.
  const std::size_t lacking = report.count(GateVerdict::missing) +
                              report.count(GateVerdict::invalid) + failed_launches +
                              unanswered(report);
  const bool regression = holds("regression", slower > 0 || report.host_alarm());
  const bool blind = holds("blind", !report.injected.passed());
  const bool incomplete = holds("incomplete", lacking > 0 || partial);
  const bool ambiguous = holds("ambiguous", report.count(GateVerdict::ambiguous) > 0);
  const bool insufficient = holds("insufficient", report.tested() == 0);

  verdict.word = slower > 0                        ? "REGRESSED"
                 : regression                      ? "HOST SHIFT"
                 : blind                           ? "BLIND"
                 : incomplete                      ? "INCOMPLETE"
                 : ambiguous && fails("ambiguous") ? "INCOMPLETE"
                 : insufficient                    ? "INSUFFICIENT"
                                                   : "PASS";
  if (regression && fails("regression")) {
    verdict.exit_code = kRegression;
  } else if (blind || (incomplete && fails("incomplete")) || (ambiguous && fails("ambiguous"))) {
    verdict.exit_code = kIncomplete;
  } else {
    verdict.exit_code = kPass;
  }
  if (report.host_alarm()) verdict.summary = host_sentence(report);
  verdict.summary += counts_of(report);
  if (failed_launches > 0) verdict.summary += fmt::format("; {} launches failed", failed_launches);
  if (const std::size_t open = unanswered(report); open > 0) {
    verdict.summary += fmt::format("; {} suspects were not measured again", open);
  }
  if (partial) verdict.summary += "; interrupted before its end";
  if (blind) verdict.summary += "; an injected drop of 10 % was not found";
  return verdict;
}

}  // namespace scalebench
