// SPDX-License-Identifier: Apache-2.0
// One row of a catalog that people write, as configs/instances.csv: each cell as what it has to be,
// or a UsageError with its place and what is valid.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <string_view>

#include "bench/record/csv.hpp"
#include "kernels/error.hpp"

namespace scalebench {

class CatalogRow {
 public:
  CatalogRow(const CsvTable& table, std::size_t row) : table_(table), row_(row) {}

  const std::string& text(std::string_view column) const { return table_.text(row_, column); }
  /// Of a column that a catalog need not have.
  std::string optional(std::string_view column) const {
    return table_.has(column) ? text(column) : std::string();
  }
  std::string required(std::string_view column, std::string_view valid) const {
    if (text(column).empty()) refuse(column, valid);
    return text(column);
  }
  int whole(std::string_view column, double least, double most) const {
    const double value = table_.number(row_, column);
    if (value >= least && value <= most && value == std::floor(value)) {
      return static_cast<int>(value);
    }
    refuse(column, fmt::format("a whole number from {} to {}", least, most));
  }
  double positive(std::string_view column, double most) const {
    const double value = table_.number(row_, column);
    if (value > 0 && value <= most) return value;
    refuse(column, fmt::format("a number above 0 and up to {}", most));
  }
  /// `otherwise` where the cell is empty or the column is not there.
  double positive_or(double otherwise, std::string_view column, double most) const {
    return optional(column).empty() ? otherwise : positive(column, most);
  }
  [[noreturn]] void refuse(std::string_view column, std::string_view valid) const {
    fail<UsageError>("{}: {}: '{}'; valid: {}", table_.place(row_, column), column, text(column),
                     valid);
  }

 private:
  const CsvTable& table_;
  std::size_t row_;
};

}  // namespace scalebench
