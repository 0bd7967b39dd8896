// SPDX-License-Identifier: Apache-2.0
#include <fmt/ranges.h>

#include <algorithm>

#include "bench/study/import/kinds.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

/// Takes "*STEPS" off the end of an expression: "took ([0-9.]+) *5005" or "...)*5005".
double steps_behind(std::string& expression) {
  const std::size_t star = expression.rfind('*');
  if (star == std::string::npos || star == 0) return 0;
  const char before = expression[star - 1];
  const std::string steps = expression.substr(star + 1);
  if ((before != ' ' && before != ')') || !is_count(steps)) return 0;
  expression.erase(expression.find_last_not_of(' ', star - 1) + 1);
  return decimal_of(steps).value_or(0);
}

}  // namespace

Preset parse_metrics(const std::vector<std::string>& texts, const Schema& schema) {
  std::vector<std::string_view> valid = value_columns(schema);
  std::ranges::copy(describing_columns(schema), std::back_inserter(valid));
  Preset preset;
  std::vector<Pattern>& metrics = preset.patterns;
  std::size_t carriers = 0;
  for (const std::string& text : texts) {
    const std::string place = "--metric " + text;
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) {
      fail<UsageError>("{}: write column=expression, as seconds='took ([0-9.]+) s'", place);
    }
    const std::string name = text.substr(0, equals);
    const std::size_t colon = name.find(':');
    Pattern& metric = metrics.emplace_back();
    metric.says = name.substr(0, colon);
    if (std::ranges::find(valid, metric.says) == valid.end()) {
      fail<UsageError>("{}: {}", place, unknown_name("column", metric.says, valid));
    }
    for (std::size_t i = 0; i + 1 < metrics.size(); ++i) {
      const bool adds_up = metric.says.ends_with("_seconds");
      if (metrics[i].says == metric.says && !adds_up) {
        fail<UsageError>("{}: named twice", place);
      }
    }
    if (colon != std::string::npos) {
      const std::string unit = name.substr(colon + 1);
      metric.per_second = metric.says == "seconds" && unit == "steps/s";
      if (!metric.per_second) metric.factor = unit_factor(place, metric.says, unit);
    }
    metric.expression = text.substr(equals + 1);
    metric.steps = steps_behind(metric.expression);
    if (metric.steps > 0 && (metric.says != "seconds" || schema.file != epoch_schema().file)) {
      fail<UsageError>("{}: *STEPS makes epochs of seconds, in epoch.csv alone", place);
    }
    const LinePattern checked(place, metric.expression);  // throws for what is none
    carriers += carries_values(schema, metric.says) ? 1 : 0;
  }
  if (carriers != 1) {
    fail<UsageError>("--metric: exactly one carries the values of {}; valid: {}", schema.file,
                     fmt::join(value_columns(schema), ", "));
  }
  // What a log calls its epochs: "Epoch: [3]", "Epoch 3/12", "epoch=3".
  metrics.push_back({"epoch", R"((?i:(?:^|[^a-z])epoch)['"]?(?: *[:=#]? *)\[? *([0-9]+))"});
  return preset;
}

}  // namespace scalebench
