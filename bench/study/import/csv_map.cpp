// SPDX-License-Identifier: Apache-2.0
#include "bench/study/import/csv_map.hpp"

#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>

#include "bench/record/file.hpp"
#include "bench/study/import/settings.hpp"
#include "bench/study/import/value_column.hpp"
#include "bench/study/stored_run.hpp"
#include "bench/study/toml_reader.hpp"
#include "kernels/error.hpp"
#include "kernels/unknown_name.hpp"

namespace scalebench {
namespace {

constexpr std::string_view kLaunch = "launch";

std::vector<std::string_view> benches() {
  std::vector<std::string_view> names;
  for (const Schema* schema : case_schemas()) {
    names.push_back(schema->file.substr(0, schema->file.find('.')));
  }
  return names;
}

bool known(TomlReader& reader, const toml::node& node, std::string_view column,
           const std::vector<std::string_view>& valid) {
  if (std::ranges::find(valid, column) != valid.end()) return true;
  reader.complain(node, unknown_name("column", column, valid));
  return false;
}

/// ours = "theirs" or ours = { column = "theirs", unit = "us", names = { "theirs" = "ours" } }.
void read_column(TomlReader& reader, const toml::table& columns, std::string_view ours,
                 const toml::node& node, CsvMap& map) {
  MappedColumn& column = map.columns.emplace_back();
  column.ours = ours;
  if (!node.is_table()) return reader.text(columns, ours, column.theirs);
  const toml::table& more = *node.as_table();
  reader.text(more, "column", column.theirs);
  reader.required(more, "column");
  std::string unit;
  reader.text(more, "unit", unit);
  try {
    column.factor = unit_factor("unit", ours, unit);
  } catch (const UsageError& error) {
    reader.complain(*more.get("unit"), error.what());
  }
  if (const toml::table* names = reader.table(more, "names")) {
    for (const auto& [theirs, value] : *names) {
      reader.text(*names, theirs.str(), column.names[std::string(theirs.str())]);
    }
  }
  reader.no_other_keys(more);
}

void read_columns(TomlReader& reader, const toml::table& columns, CsvMap& map) {
  const std::vector<std::string_view> values = value_columns(*map.schema);
  std::vector<std::string_view> valid = values;
  std::ranges::copy(describing_columns(*map.schema), std::back_inserter(valid));
  valid.push_back(kLaunch);
  int carriers = 0;
  for (const auto& [key, node] : columns) {
    if (!known(reader, node, key.str(), valid)) continue;
    carriers += std::ranges::find(values, key.str()) != values.end() ? 1 : 0;
    read_column(reader, columns, key.str(), node, map);
  }
  if (carriers != 1) {
    reader.complain(columns, fmt::format("exactly one column holds the values; valid: {}",
                                         fmt::join(values, ", ")));
  }
}

void read_constants(TomlReader& reader, const toml::table& constants, CsvMap& map) {
  const std::vector<std::string_view> valid = describing_columns(*map.schema);
  for (const auto& [key, node] : constants) {
    if (!known(reader, node, key.str(), valid)) continue;
    const auto number = node.value<std::int64_t>();
    std::string value = number && node.is_integer() ? std::to_string(*number) : "";
    if (value.empty()) reader.text(constants, key.str(), value);
    try {
      require_value("[constants]", key.str(), value);
      map.constants.emplace_back(key.str(), value);
    } catch (const UsageError& error) {
      reader.complain(node, error.what());
    }
  }
}

void read_filter(TomlReader& reader, const toml::table& filter, CsvMap& map) {
  for (const auto& [key, node] : filter) {
    auto& [column, texts] = map.filter.emplace_back(key.str(), std::vector<std::string>());
    if (node.is_array()) {
      reader.texts(filter, key.str(), texts);
    } else {
      reader.text(filter, key.str(), texts.emplace_back());
    }
  }
}

}  // namespace

const Schema& schema_of_bench(const std::string& bench) {
  const std::vector<std::string_view> names = benches();
  const auto found = std::ranges::find(names, bench);
  if (found == names.end()) throw UsageError(unknown_name("bench", bench, names));
  return *case_schemas()[static_cast<std::size_t>(found - names.begin())];
}

CsvMap read_csv_map(const std::filesystem::path& path) {
  CsvMap map;
  map.text = read_file(path);
  toml::table root;
  try {
    root = toml::parse(map.text);
  } catch (const toml::parse_error& error) {
    const toml::source_position at = error.source().begin;
    fail<UsageError>("{}:{}:{}: {}", path.string(), at.line, at.column, error.description());
  }
  TomlReader reader(path.string());
  std::string bench = "allreduce";
  reader.choice(root, "bench", bench, benches());
  reader.required(root, "bench");
  const toml::table* columns = reader.table(root, "columns");
  const toml::table* constants = reader.table(root, "constants");
  const toml::table* filter = reader.table(root, "filter");
  reader.required(root, "columns");
  reader.no_other_keys(root);
  const std::vector<std::string_view> names = benches();
  if (std::ranges::find(names, bench) == names.end()) reader.throw_complaints();
  map.schema = &schema_of_bench(bench);
  if (columns != nullptr) read_columns(reader, *columns, map);
  if (constants != nullptr) read_constants(reader, *constants, map);
  if (filter != nullptr) read_filter(reader, *filter, map);
  reader.throw_complaints();
  return map;
}

}  // namespace scalebench
