// SPDX-License-Identifier: Apache-2.0
#include "bench/study/plan/toml_reader.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "kernels/error.hpp"

namespace scalebench {

const toml::node* TomlReader::find(const toml::table& table, std::string_view key) {
  asked_[&table].emplace_back(key);
  return table.get(key);
}

void TomlReader::complain(const toml::node& where, const std::string& what) {
  const toml::source_position at = where.source().begin;
  complaints_.emplace(std::pair(at.line, at.column),
                      fmt::format("{}:{}:{}: {}", file_, at.line, at.column, what));
}

void TomlReader::text(const toml::table& table, std::string_view key, std::string& value) {
  const toml::node* node = find(table, key);
  if (node == nullptr) return;
  if (const auto text = node->value_exact<std::string>()) {
    value = *text;
  } else {
    complain(*node, fmt::format("{}: expected a text in quotes", key));
  }
}

void TomlReader::texts(const toml::table& table, std::string_view key,
                       std::vector<std::string>& value) {
  const toml::node* node = find(table, key);
  if (node == nullptr) return;
  const toml::array* array = node->as_array();
  if (array == nullptr || array->empty() || !array->is_homogeneous(toml::node_type::string)) {
    complain(*node, fmt::format("{}: expected a list of texts, as [\"a\", \"b\"]", key));
    return;
  }
  value.clear();
  for (const toml::node& entry : *array) value.push_back(*entry.value<std::string>());
}

void TomlReader::choice(const toml::table& table, std::string_view key, std::string& value,
                        const std::vector<std::string_view>& valid) {
  text(table, key, value);
  const toml::node* node = table.get(key);
  if (node == nullptr || !node->is_string() || valid.empty()) return;
  if (std::ranges::find(valid, value) == valid.end()) {
    complain(*node, unknown_name(key, value, valid));
  }
}

void TomlReader::choices(const toml::table& table, std::string_view key,
                         std::vector<std::string>& value,
                         const std::vector<std::string_view>& valid) {
  const std::size_t complaints = complaints_.size();
  texts(table, key, value);
  const toml::node* node = table.get(key);
  if (node == nullptr || valid.empty() || complaints_.size() > complaints) return;
  for (const toml::node& entry : *node->as_array()) {
    const std::string text = *entry.value<std::string>();
    if (std::ranges::find(valid, text) == valid.end()) {
      complain(entry, unknown_name(key, text, valid));
    }
  }
}

void TomlReader::whole(const toml::table& table, std::string_view key, std::int64_t& value,
                       std::int64_t low, std::int64_t high) {
  const toml::node* node = find(table, key);
  if (node == nullptr) return;
  const auto number = node->value_exact<std::int64_t>();
  if (number && low <= *number && *number <= high) {
    value = *number;
  } else {
    complain(*node, fmt::format("{}: expected a whole number from {} to {}", key, low, high));
  }
}

void TomlReader::wholes(const toml::table& table, std::string_view key, std::vector<int>& value,
                        int low, int high) {
  const toml::node* node = find(table, key);
  if (node == nullptr) return;
  const toml::array* array = node->as_array();
  bool valid = array != nullptr && !array->empty();
  std::vector<int> numbers;
  for (std::size_t i = 0; valid && i < array->size(); ++i) {
    const auto number = array->get(i)->value_exact<std::int64_t>();
    valid = number && low <= *number && *number <= high;
    if (valid) numbers.push_back(static_cast<int>(*number));
  }
  if (valid) {
    value = numbers;
  } else {
    complain(*node,
             fmt::format("{}: expected a list of whole numbers from {} to {}", key, low, high));
  }
}

void TomlReader::wholes_or(const toml::table& table, std::string_view key,
                           std::vector<std::string>& value, std::int64_t low, std::int64_t high,
                           std::string_view word) {
  const toml::node* node = find(table, key);
  if (node == nullptr) return;
  const toml::array* array = node->as_array();
  bool valid = array != nullptr && !array->empty();
  std::vector<std::string> texts;
  for (std::size_t i = 0; valid && i < array->size(); ++i) {
    const auto number = array->get(i)->value_exact<std::int64_t>();
    const bool other = array->get(i)->value_exact<std::string_view>() == word;
    valid = other || (number && low <= *number && *number <= high);
    if (valid) texts.push_back(other ? std::string(word) : std::to_string(*number));
  }
  if (valid) {
    value = texts;
  } else {
    complain(*node, fmt::format("{}: expected a list of whole numbers from {} to {} or \"{}\"", key,
                                low, high, word));
  }
}

void TomlReader::flag(const toml::table& table, std::string_view key, bool& value) {
  const toml::node* node = find(table, key);
  if (node == nullptr) return;
  if (const auto flag = node->value_exact<bool>()) {
    value = *flag;
  } else {
    complain(*node, fmt::format("{}: expected true or false", key));
  }
}

void TomlReader::positive(const toml::table& table, std::string_view key, double& value) {
  const toml::node* node = find(table, key);
  if (node == nullptr) return;
  const auto number = node->value<double>();
  if (node->is_number() && number && std::isfinite(*number) && *number > 0) {
    value = *number;
  } else {
    complain(*node, fmt::format("{}: expected a positive number", key));
  }
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
      const toml::source_position at = key.source().begin;
      complaints_.emplace(std::pair(at.line, at.column),
                          fmt::format("{}:{}:{}: {}", file_, at.line, at.column,
                                      unknown_name("key", key.str(), valid)));
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
