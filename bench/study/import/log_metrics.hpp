// SPDX-License-Identifier: Apache-2.0
// Any program's log by regular expressions: each names one of our columns and has the number in its
// first group. Several matches of the column that carries the values are samples (steps, epochs) in
// their order.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/study/import/foreign_text.hpp"
#include "bench/study/import/settings.hpp"

namespace scalebench {

class LinePattern;

struct LogMetric {
  std::string column;
  double factor = 1;  // from the log's unit to ours
  std::string expression;
  std::shared_ptr<const LinePattern> pattern;
};

/// "column=expression" or "column:unit=expression", as "seconds:ms=step took ([0-9.]+)" in the
/// syntax of LinePattern. Throws UsageError for an unknown column or unit, one named twice, a bad
/// expression and one without a group.
std::vector<LogMetric> parse_metrics(const std::vector<std::string>& texts, const Schema& schema);

/// One launch with one case. A metric that is nowhere in the log, or not a number where it is,
/// becomes a finding; of the metric that carries the values, also a failed case.
ImportedFile read_log(std::string_view text, const std::string& file, const Schema& schema,
                      const std::vector<LogMetric>& metrics, const Settings& settings);

}  // namespace scalebench
