// SPDX-License-Identifier: Apache-2.0
#include "bench/study/plan/toml_reader.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "kernels/error.hpp"

namespace scalebench {

namespace {

/// The entries of a list that is not empty, as `read` makes them; nothing unless it can make all.
template <class Value, class Read>
std::optional<std::vector<Value>> list_of(const toml::node& node, Read read) {
  const toml::array* array = node.as_array();
  if (array == nullptr || array->empty()) return std::nullopt;
  std::vector<Value> values;
  for (const toml::node& entry : *array) {
    const std::optional<Value> value = read(entry);
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  return values;
}

std::optional<std::string> text_of(const toml::node& node) {
  return node.value_exact<std::string>();
}

std::optional<std::int64_t> whole_of(const toml::node& node, std::int64_t low, std::int64_t high) {
  const auto number = node.value_exact<std::int64_t>();
  return number && low <= *number && *number <= high ? number : std::nullopt;
}

}  // namespace

const toml::node* TomlReader::find(const toml::table& table, std::string_view key) {
  asked_[&table].emplace_back(key);
  return table.get(key);
}

void TomlReader::complain_at(const toml::source_position& at, const std::string& what) {
  complaints_.emplace(std::pair(at.line, at.column),
                      fmt::format("{}:{}:{}: {}", file_, at.line, at.column, what));
}

toml::table TomlReader::parsed(const std::string& text) const {
  try {
    return toml::parse(text);
  } catch (const toml::parse_error& error) {
    const toml::source_position at = error.source().begin;
    fail<UsageError>("{}:{}:{}: {}", file_, at.line, at.column, error.description());
  }
}

void TomlReader::complain(const toml::node& where, const std::string& what) {
  complain_at(where.source().begin, what);
}

template <class Value, class Read>
const toml::node* TomlReader::take(const toml::table& table, std::string_view key, Value& value,
                                   Read read, const std::string& expected) {
  const toml::node* node = find(table, key);
  if (node == nullptr) return nullptr;
  const std::optional<Value> found = read(*node);
  if (!found) {
    complain(*node, fmt::format("{}: expected {}", key, expected));
    return nullptr;
  }
  value = *found;
  return node;
}

void TomlReader::text(const toml::table& table, std::string_view key, std::string& value) {
  take(table, key, value, text_of, "a text in quotes");
}

void TomlReader::texts(const toml::table& table, std::string_view key,
                       std::vector<std::string>& value) {
  choices(table, key, value, {});
}

void TomlReader::choice(const toml::table& table, std::string_view key, std::string& value,
                        const std::vector<std::string_view>& valid) {
  const toml::node* node = take(table, key, value, text_of, "a text in quotes");
  if (node == nullptr || valid.empty() || std::ranges::find(valid, value) != valid.end()) return;
  complain(*node, unknown_name(key, value, valid));
}

void TomlReader::choices(const toml::table& table, std::string_view key,
                         std::vector<std::string>& value,
                         const std::vector<std::string_view>& valid) {
  const auto read = [](const toml::node& node) { return list_of<std::string>(node, text_of); };
  const toml::node* node = take(table, key, value, read, "a list of texts, as [\"a\", \"b\"]");
  if (node == nullptr || valid.empty()) return;
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (std::ranges::find(valid, value[i]) != valid.end()) continue;
    complain((*node->as_array())[i], unknown_name(key, value[i], valid));
  }
}

void TomlReader::whole(const toml::table& table, std::string_view key, std::int64_t& value,
                       std::int64_t low, std::int64_t high) {
  const auto read = [&](const toml::node& node) { return whole_of(node, low, high); };
  take(table, key, value, read, fmt::format("a whole number from {} to {}", low, high));
}

void TomlReader::wholes(const toml::table& table, std::string_view key, std::vector<int>& value,
                        int low, int high) {
  std::vector<std::int64_t> wide;
  const auto number = [&](const toml::node& node) { return whole_of(node, low, high); };
  const auto read = [&](const toml::node& node) { return list_of<std::int64_t>(node, number); };
  const std::string expected = fmt::format("a list of whole numbers from {} to {}", low, high);
  if (take(table, key, wide, read, expected) != nullptr) value.assign(wide.begin(), wide.end());
}

void TomlReader::flag(const toml::table& table, std::string_view key, bool& value) {
  const auto read = [](const toml::node& node) { return node.value_exact<bool>(); };
  take(table, key, value, read, "true or false");
}

void TomlReader::positive(const toml::table& table, std::string_view key, double& value) {
  const auto read = [](const toml::node& node) {
    const auto number = node.value<double>();
    const bool fits = node.is_number() && number && std::isfinite(*number) && *number > 0;
    return fits ? number : std::nullopt;
  };
  take(table, key, value, read, "a positive number");
}

const toml::table* TomlReader::table(const toml::table& table, std::string_view key) {
  const toml::node* node = find(table, key);
  if (node == nullptr) return nullptr;
  if (!node->is_table()) complain(*node, fmt::format("{0}: expected a table, as [{0}]", key));
  return node->as_table();
}

std::vector<const toml::table*> TomlReader::tables(const toml::table& table, std::string_view key) {
  std::vector<const toml::table*> found;
  const toml::node* node = find(table, key);
  if (node == nullptr) return found;
  const toml::array* array = node->as_array();
  if (array == nullptr || !array->is_array_of_tables()) {
    complain(*node, fmt::format("{0}: expected tables, as [[{0}]]", key));
    return found;
  }
  for (const toml::node& entry : *array) found.push_back(entry.as_table());
  return found;
}

void TomlReader::required(const toml::table& table, std::string_view key) {
  if (!table.contains(key)) complain(table, fmt::format("{} is missing", key));
}

void TomlReader::no_other_keys(const toml::table& table) {
  const std::vector<std::string>& asked = asked_[&table];
  const std::vector<std::string_view> valid(asked.begin(), asked.end());
  for (const auto& [key, node] : table) {
    if (std::ranges::find(valid, key.str()) == valid.end()) {
      complain_at(key.source().begin, unknown_name("key", key.str(), valid));
    }
  }
}

void TomlReader::throw_complaints() const {
  if (complaints_.empty()) return;
  std::vector<std::string> lines;
  for (const auto& [place, line] : complaints_) lines.push_back(line);
  fail<UsageError>("{}", fmt::join(lines, "\n"));
}

}  // namespace scalebench
