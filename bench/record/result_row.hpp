// SPDX-License-Identifier: Apache-2.0
// The columns of every result file (results/README.md is their meaning), and a row that knows them.
// A column that is not in the schema is a programming error and throws; one left unset is empty.
#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <vector>

namespace scalebench {

inline constexpr int kSchemaVersion = 1;

/// Column names of one result file, in order.
struct Schema {
  std::string_view file;  // "allreduce.csv"
  std::vector<std::string> columns;
};

const Schema& samples_schema();
const Schema& hosts_schema();
const Schema& placement_schema();
const Schema& kernels_schema();
const Schema& allreduce_schema();
const Schema& allreduce_ranks_schema();
const Schema& bound_schema();
const Schema& links_schema();
const Schema& throughput_schema();
const Schema& epoch_schema();
const Schema& accuracy_schema();
const Schema& monitor_schema();
const Schema& scaling_schema();
const Schema& ladder_schema();
const Schema& fit_schema();
const Schema& fit_points_schema();
const Schema& certificate_schema();
const Schema& gate_schema();
const Schema& history_schema();
const Schema& comparison_schema();
const Schema& cost_schema();
const Schema& break_even_schema();
const Schema& recovery_schema();
const Schema& prediction_schema();

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

  const Schema& schema() const { return *schema_; }
  const std::string& get(std::string_view column) const;
  const std::vector<std::string>& cells() const { return cells_; }

 private:
  std::size_t index_of(std::string_view column) const;
  const Schema* schema_;
  std::vector<std::string> cells_;
};

}  // namespace scalebench
