// SPDX-License-Identifier: Apache-2.0
#include "bench/study/import/presets.hpp"

#include <fmt/ranges.h>

#include <algorithm>

#include "bench/record/file.hpp"
#include "bench/study/import/imported_case.hpp"
#include "bench/study/plan/toml_reader.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

/// An expression, or one with a factor: 'took ([0-9]+) ms', ['took ([0-9]+) ms', 1e-3].
Pattern pattern_of(TomlReader& reader, std::string_view says, const toml::node& node) {
  const toml::array* const both = node.as_array();
  const toml::node& first = both != nullptr && both->size() == 2 ? (*both)[0] : node;
  if (!first.is_string()) reader.complain(node, "expected an expression, or one and a factor");
  const bool is_fact = std::ranges::count(words_of(kFacts), says) > 0;
  const double factor = &first == &node ? 1 : (*both)[1].value_or(1.0);
  return {std::string(says), {says, first.value_or(std::string("()"))}, is_fact, factor};
}

void read_patterns(TomlReader& reader, const toml::table& says, Preset& preset) {
  const std::vector<std::string_view> known = words_of(kSays);
  for (const auto& [key, node] : says) {
    if (std::ranges::find(known, key.str()) == known.end()) {
      reader.complain(node, unknown_name("key", key.str(), known));
    } else if (!node.is_array()) {
      preset.patterns.push_back(pattern_of(reader, key.str(), node));
    } else {
      for (const toml::node& one : *node.as_array()) {
        preset.patterns.push_back(pattern_of(reader, key.str(), one));
      }
    }
  }
}

}  // namespace

std::vector<Preset> read_presets(const std::filesystem::path& path) {
  TomlReader reader(path.string());
  const toml::table root = reader.parsed(read_file(path));
  std::vector<Preset> presets;
  for (const toml::table* const one : reader.tables(root, "preset")) {
    Preset& preset = presets.emplace_back();
    reader.required(*one, "name");
    reader.text(*one, "name", preset.name);
    reader.text(*one, "reads", preset.reads);
    reader.text(*one, "needs", preset.needs);
    reader.text(*one, "sync", preset.sync);
    reader.text(*one, "excerpt", preset.excerpt);
    if (const toml::table* const says = reader.table(*one, "says")) {
      read_patterns(reader, *says, preset);
    }
    reader.no_other_keys(*one);
  }
  reader.throw_complaints();
  return presets;
}

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
    Pattern metric{name.substr(0, colon), {place, text.substr(equals + 1)}};
    if (std::ranges::find(valid, metric.says) == valid.end()) {
      fail<UsageError>("{}: {}", place, unknown_name("column", metric.says, valid));
    }
    carriers += carries_values(schema, metric.says) ? 1 : 0;
    if (colon != std::string::npos) {
      const std::string unit = name.substr(colon + 1);
      metric.per_second = metric.says == "seconds" && unit == "steps/s";
      if (!metric.per_second) metric.factor = unit_factor(place, metric.says, unit);
    }
    if (metric.says == "test_accuracy") metric.says = "accuracy";
    const bool is_state = metric.says.ends_with("_seconds");
    metric.is_fact = !is_state && !carries_values(schema, metric.says) && metric.says != "accuracy";
    if (!is_state && std::ranges::count(metrics, metric.says, &Pattern::says) > 0) {
      fail<UsageError>("{}: named twice", place);
    }
    metrics.push_back(std::move(metric));
  }
  if (carriers != 1) {
    fail<UsageError>("--metric: exactly one carries the values of {}; valid: {}", schema.file,
                     fmt::join(value_columns(schema), ", "));
  }
  // What a log calls its epochs: "Epoch: [3]", "Epoch 3/12", "epoch=3".
  static const LinePattern kName("a name",
                                 R"((?i:(?:^|[^a-z])epoch)['"]?(?: *[:=#]? *)\[? *([0-9]+))");
  metrics.push_back({"epoch_name", kName});
  return preset;
}

const Said* said_in(const Line& line, std::string_view word) {
  const auto found =
      std::ranges::find_if(line, [&](const Said& said) { return said.pattern->says == word; });
  return found == line.end() ? nullptr : &*found;
}

Line read_line(const Preset& preset, const ForeignLine& text) {
  Line line;
  for (const Pattern& pattern : preset.patterns) {
    if (!preset.name.empty() && said_in(line, pattern.says) != nullptr) continue;
    if (const auto group = pattern.expression.first_group(text)) line.push_back({&pattern, *group});
  }
  return line;
}

}  // namespace scalebench
