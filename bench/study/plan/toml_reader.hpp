// SPDX-License-Identifier: Apache-2.0
// Reads values out of TOML tables and collects every complaint with its place, so that a user sees
// all that is wrong with a file at once.
#pragma once

#include <toml++/toml.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace scalebench {

class TomlReader {
 public:
  explicit TomlReader(std::string file) : file_(std::move(file)) {}
  /// Throws UsageError, with its place, for what is no TOML.
  toml::table parsed(const std::string& text) const;

  // Each leaves `value` alone when the key is absent, and complains about a wrong type or value.
  void text(const toml::table& table, std::string_view key, std::string& value);
  void texts(const toml::table& table, std::string_view key, std::vector<std::string>& value);
  /// `valid` empty: any text.
  void choice(const toml::table& table, std::string_view key, std::string& value,
              const std::vector<std::string_view>& valid);
  void choices(const toml::table& table, std::string_view key, std::vector<std::string>& value,
               const std::vector<std::string_view>& valid);
  void whole(const toml::table& table, std::string_view key, std::int64_t& value, std::int64_t low,
             std::int64_t high);
  void wholes(const toml::table& table, std::string_view key, std::vector<int>& value, int low,
              int high);
  void flag(const toml::table& table, std::string_view key, bool& value);
  void positive(const toml::table& table, std::string_view key, double& value);
  /// Null when absent or not a table.
  const toml::table* table(const toml::table& table, std::string_view key);
  /// The tables of [[key]].
  std::vector<const toml::table*> tables(const toml::table& table, std::string_view key);

  void required(const toml::table& table, std::string_view key);
  /// Complains about every key that was not asked for, with the nearest that was.
  void no_other_keys(const toml::table& table);
  void complain(const toml::node& where, const std::string& what);
  /// Throws UsageError with all complaints in the order of the file, one a line; none: returns.
  void throw_complaints() const;

 private:
  const toml::node* find(const toml::table& table, std::string_view key);
  /// What `read` makes of the node, if it is there and that is something; the node then, else null.
  template <class Value, class Read>
  const toml::node* take(const toml::table& table, std::string_view key, Value& value, Read read,
                         const std::string& expected);
  void complain_at(const toml::source_position& at, const std::string& what);

  std::string file_;
  std::map<const toml::table*, std::vector<std::string>> asked_;
  std::multimap<std::pair<std::uint32_t, std::uint32_t>, std::string> complaints_;
};

}  // namespace scalebench
