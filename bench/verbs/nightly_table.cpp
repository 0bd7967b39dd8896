// SPDX-License-Identifier: Apache-2.0
#include "bench/verbs/nightly_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace scalebench {
namespace {

constexpr std::size_t kMostLines = 40;

std::string percent(double relative) {
  return std::isnan(relative) ? "-" : fmt::format("{:+.1f} %", 100 * relative);
}

bool needs_a_look(const GateCell& cell) {
  return cell.verdict != GateVerdict::ok && cell.verdict != GateVerdict::insufficient &&
         cell.verdict != GateVerdict::skipped && cell.verdict != GateVerdict::excluded;
}

/// The median over cells of the smallest drop that tonight would have shown.
std::string sees(const GateReport& report) {
  std::vector<double> drops;
  for (const GateCell& cell : report.cells) {
    if (!std::isnan(cell.smallest_drop)) drops.push_back(cell.smallest_drop);
  }
  if (drops.empty()) return "";
  std::ranges::sort(drops);
  return fmt::format("would have found a drop of {:.1f} % in half of the cells, {:.1f} % in all\n",
                     100 * drops[drops.size() / 2], 100 * drops.back());
}

}  // namespace

std::string nightly_table(const GateReport& report, const NightVerdict& verdict) {
  std::string text;
  auto out = std::back_inserter(text);
  std::size_t lines = 0, more = 0;
  for (const GateCell& cell : report.cells) {
    if (!needs_a_look(cell)) continue;
    if (lines == kMostLines) {
      ++more;
      continue;
    }
    ++lines;
    const std::string metric = cell.cell.is_time() ? "" : " " + cell.cell.metric;
    fmt::format_to(out, "{:<10} {:>8}  {}{}{}\n", name_of(cell.verdict), percent(cell.test.change),
                   cell.cell.label, metric, cell.note.empty() ? "" : "  (" + cell.note + ")");
  }
  if (more > 0) fmt::format_to(out, "... and {} more: gate.csv\n", more);
  text += sees(report);
  if (report.injected.tested > 0) {
    fmt::format_to(out, "an injected drop of 10 % was found in {} of {} cells\n",
                   report.injected.caught, report.injected.tested);
  }
  fmt::format_to(out, "{}: {}\n", verdict.word, verdict.summary);
  return text;
}

}  // namespace scalebench
