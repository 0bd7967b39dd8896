// SPDX-License-Identifier: Apache-2.0
// The columns of every result file (results/README.md is their meaning), and a row that knows them.
// A column that is not in the schema is a programming error and throws; one left unset is empty.
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace scalebench {

// The name of a case in every file: two rows with equal ids differ in nothing but N.

/// First 12 hex digits of the SHA-256 of the canonical parameters, which leave the number of ranks
/// out. 48 bits: two of 10 000 different cases share an id with probability 2e-7.
std::string case_id(std::string_view canonical_parameters);

inline constexpr int kSchemaVersion = 1;

/// The names of a file's columns, in order. Where one stands is looked up, not searched for.
class ColumnNames {
 public:
  ColumnNames() = default;
  /// Words. A $ behind one says that the column holds texts; it is no part of the name.
  explicit ColumnNames(const std::string& names);
  void push_back(std::string_view name);

  /// size() for a column that is not there.
  std::size_t place_of(std::string_view name) const;
  /// Names and texts, which stay texts where they look like numbers; the rest are numbers or empty.
  bool is_text(std::size_t place) const { return texts_.at(place); }

  std::size_t size() const { return names_.size(); }
  const std::string& operator[](std::size_t place) const { return names_[place]; }
  std::vector<std::string>::const_iterator begin() const { return names_.begin(); }
  std::vector<std::string>::const_iterator end() const { return names_.end(); }
  operator const std::vector<std::string>&() const { return names_; }
  friend bool operator==(const ColumnNames& columns, const std::vector<std::string>& names) {
    return columns.names_ == names;
  }

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };

  std::vector<std::string> names_;
  std::vector<bool> texts_;
  std::unordered_map<std::string, std::size_t, Hash, std::equal_to<>> places_;
};

struct Schema {
  std::string_view file;  // "allreduce.csv"
  ColumnNames columns;

  /// "allreduce": the file without its ending.
  std::string_view bench() const { return file.substr(0, file.find('.')); }
  bool has(std::string_view column) const;
};

#define SCHEMA(name, ...) const Schema& name##_schema();
#include "bench/record/result_files.def"
#undef SCHEMA

class ResultRow {
 public:
  explicit ResultRow(const Schema& schema);
  /// `cells`: one for each column.
  ResultRow(const Schema& schema, std::vector<std::string> cells);

  ResultRow& set(std::string_view column, std::string_view text);
  ResultRow& set(std::string_view column, const char* text) {
    return set(column, std::string_view(text));
  }
  /// NaN and infinities become empty cells; otherwise the shortest text that reads back equal.
  ResultRow& set(std::string_view column, double value);
  template <std::integral Integer>
  ResultRow& set(std::string_view column, Integer value) {
    return set(column, std::string_view(std::to_string(value)));
  }
  /// After what the row's note says already: others read it, and it may be why a row does not
  /// count.
  ResultRow& add_note(std::string_view text);

  const Schema& schema() const { return *schema_; }
  const std::string& get(std::string_view column) const;
  const std::vector<std::string>& cells() const { return cells_; }

 private:
  std::size_t index_of(std::string_view column) const;
  const Schema* schema_;
  std::vector<std::string> cells_;
};

/// The cell; empty where the row's file has no such column.
std::string text_in(const ResultRow& row, std::string_view column);

/// The same as a number; NaN when empty. Throws UsageError when it is something else.
double number_in(const ResultRow& row, std::string_view column);

// What verbs print for programs: one JSON document on stdout that says which schema it has.

/// `body`, an object, with schema_version, and a line end. Text that is no UTF-8 is replaced.
std::string document(nlohmann::json body);

/// Column: cell, in the file's order. Null where nothing is known. Names and texts stay texts, also
/// where they look like numbers; the rest are numbers, or a text where a cell is none ("all").
nlohmann::ordered_json json_of(const ResultRow& row);

}  // namespace scalebench
