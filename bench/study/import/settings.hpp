// SPDX-License-Identifier: Apache-2.0
// Columns whose values the user gives, because a foreign file does not hold them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/record/result_row.hpp"
#include "bench/study/import/foreign_text.hpp"

namespace scalebench {

/// The columns of a case file that describe a case and may come from a user or a foreign file:
/// neither ids nor statistics.
std::vector<std::string_view> describing_columns(const Schema& schema);

/// The settings of each of `files` files out of texts "column=value" or "column=v1,v2,..." with a
/// value for each file. Throws UsageError for a column that may not be set or a value that is none.
std::vector<Settings> parse_settings(const std::vector<std::string>& texts, const Schema& schema,
                                     std::size_t files);

/// Throws UsageError, beginning with `place`, unless `value` may stand in that column.
void require_value(std::string_view place, std::string_view column, std::string_view value);

/// Fills them in. Throws UsageError, naming `file`, where the row says something else already.
void apply(const Settings& settings, ResultRow& row, const std::string& file);

/// Fills in what neither the file nor the user says.
void set_where_empty(ResultRow& row, std::string_view column, std::string_view value);

/// What `column` is set to; empty when it is not.
std::string setting(const Settings& settings, std::string_view column);

// The columns whose values are measurements, their units, and the time that follows from a rate.

/// The columns of a case file that can carry its single values: "seconds" and, where a time follows
/// from them, its rates.
std::vector<std::string_view> value_columns(const Schema& schema);

/// What a number in `unit` is multiplied by to be in the unit of the column's name: 1e-6 for
/// ("seconds", "us"). An empty unit is that of the name. Throws UsageError, beginning with `place`.
double unit_factor(std::string_view place, std::string_view column, std::string_view unit);

/// The seconds of one operation, step or epoch of the case `row` behind `value` of `column`;
/// nothing where the row does not say of how many bytes or images.
std::optional<double> seconds_behind(const ResultRow& row, std::string_view column, double value);

/// What seconds_behind needs beside the value, for a message: "samples (images of an epoch)".
std::string_view needed_for_seconds(const Schema& schema);

}  // namespace scalebench
