// SPDX-License-Identifier: Apache-2.0
#include "bench/study/import/presets.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "bench/record/file.hpp"
#include "bench/study/plan/toml_reader.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

/// An expression, or one with a factor: 'took ([0-9]+) ms', ['took ([0-9]+) ms', 1e-3].
Pattern pattern_of(TomlReader& reader, std::string_view says, const toml::node& node) {
  const toml::array* const both = node.as_array();
  const toml::node& first = both != nullptr && both->size() == 2 ? (*both)[0] : node;
  if (!first.is_string()) reader.complain(node, "expected an expression, or one and a factor");
  const double factor = &first == &node ? 1 : (*both)[1].value_or(1.0);
  return {std::string(says), first.value_or(std::string()), factor};
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

const Said* said_in(const Line& line, std::string_view word) {
  const auto found =
      std::ranges::find_if(line, [&](const Said& said) { return said.pattern->says == word; });
  return found == line.end() ? nullptr : &*found;
}

LogPatterns::LogPatterns(const Preset& preset) : is_preset_(!preset.name.empty()) {
  for (const Pattern& pattern : preset.patterns) {
    patterns_.emplace_back(&pattern, LinePattern(preset.name, pattern.expression));
  }
}

Line LogPatterns::read(const ForeignLine& text) const {
  Line line;
  for (const auto& [pattern, expression] : patterns_) {
    if (is_preset_ && said_in(line, pattern->says) != nullptr) continue;
    if (const auto group = expression.first_group(text)) line.push_back({pattern, *group});
  }
  return line;
}

}  // namespace scalebench
