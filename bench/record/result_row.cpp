// SPDX-License-Identifier: Apache-2.0
#include "bench/record/result_row.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "bench/machine/digest.hpp"
#include "kernels/error.hpp"
#include "kernels/json/parse_json.hpp"
#include "kernels/read_number.hpp"

namespace scalebench {

std::string case_id(std::string_view canonical_parameters) {
  return sha256_of(canonical_parameters).substr(0, 12);
}

namespace {

constexpr std::string_view kCommon = "run_id$ case_id$ origin$ status$ note$ ";
/// Of what a study measures: which entry of its plan gave the row.
constexpr std::string_view kEntry = "entry$ ";
/// What the card did beside the repetitions.
constexpr std::string_view kDevice = "sm_clock_mhz throttled_share power_capped_share gpu_watts";
/// Of repetitions of one short case.
constexpr std::string_view kTimes =
    "launches repetitions seconds_median seconds_ci_low seconds_ci_high seconds_min seconds_p95 "
    "seconds_max seconds_mean outliers converged ";

template <class... Parts>
ColumnNames words(Parts... parts) {
  return ColumnNames((std::string(parts) + ...));
}

}  // namespace

#define SCHEMA(name, file, ...)                           \
  const Schema& name##_schema() {                         \
    static const Schema schema{file, words(__VA_ARGS__)}; \
    return schema;                                        \
  }
#include "bench/record/result_files.def"
#undef SCHEMA

ColumnNames::ColumnNames(const std::string& names) {
  std::istringstream text(names);
  for (std::string name; text >> name;) push_back(name);
}

void ColumnNames::push_back(std::string_view name) {
  const bool text = name.ends_with('$');
  if (text) name.remove_suffix(1);
  places_.try_emplace(std::string(name), names_.size());
  names_.emplace_back(name);
  texts_.push_back(text);
}

std::size_t ColumnNames::place_of(std::string_view name) const {
  const auto found = places_.find(name);
  return found == places_.end() ? size() : found->second;
}

bool Schema::has(std::string_view column) const {
  return columns.place_of(column) < columns.size();
}

ResultRow::ResultRow(const Schema& schema) : schema_(&schema), cells_(schema.columns.size()) {}

ResultRow::ResultRow(const Schema& schema, std::vector<std::string> cells)
    : schema_(&schema), cells_(std::move(cells)) {
  if (cells_.size() != schema.columns.size()) {
    fail("{}: {} columns and {} cells", schema.file, schema.columns.size(), cells_.size());
  }
}

std::size_t ResultRow::index_of(std::string_view column) const {
  const ColumnNames& columns = schema_->columns;
  const std::size_t place = columns.place_of(column);
  if (place < columns.size()) return place;
  const std::vector<std::string_view> valid(columns.begin(), columns.end());
  fail("{}: {}", schema_->file, unknown_name("column", column, valid));
}

ResultRow& ResultRow::set(std::string_view column, std::string_view text) {
  cells_[index_of(column)] = text;
  return *this;
}

ResultRow& ResultRow::add_note(std::string_view text) {
  const std::string& note = get("note");
  return set("note", note.empty() ? std::string(text) : fmt::format("{}; {}", note, text));
}

ResultRow& ResultRow::set(std::string_view column, double value) {
  return set(column, std::isfinite(value) ? fmt::format("{}", value) : std::string());
}

const std::string& ResultRow::get(std::string_view column) const {
  return cells_[index_of(column)];
}

nlohmann::ordered_json json_of(const ResultRow& row) {
  auto object = nlohmann::ordered_json::object();
  const ColumnNames& columns = row.schema().columns;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const std::string& cell = row.cells()[i];
    nlohmann::ordered_json& value = object[columns[i]];
    if (cell.empty()) continue;  // null
    if (!columns.is_text(i)) value = json_or_null(cell);
    if (!value.is_number()) value = cell;
  }
  return object;
}

std::string document(nlohmann::json body) {
  body["schema_version"] = kSchemaVersion;
  return body.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string text_in(const ResultRow& row, std::string_view column) {
  return row.schema().has(column) ? row.get(column) : std::string();
}

double number_in(const ResultRow& row, std::string_view column) {
  const std::string cell = text_in(row, column);
  if (cell.empty()) return std::numeric_limits<double>::quiet_NaN();
  const auto value = read_number<double>(cell);
  if (value && std::isfinite(*value)) return *value;
  fail<UsageError>("{}: case {}, column '{}': '{}' is not a number", row.schema().file,
                   text_in(row, "case_id"), column, cell);
}

}  // namespace scalebench
