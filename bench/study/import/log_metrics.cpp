// SPDX-License-Identifier: Apache-2.0
#include <fmt/ranges.h>

#include <algorithm>

#include "bench/study/import/kinds.hpp"
#include "kernels/error.hpp"

namespace scalebench {

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
