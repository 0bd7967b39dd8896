// SPDX-License-Identifier: Apache-2.0
// Columns whose values the user gives, because a foreign file does not hold them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bench/study/import/imported.hpp"

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

}  // namespace scalebench
