// SPDX-License-Identifier: Apache-2.0
// The columns whose values are measurements, their units, and the time that follows from a rate.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/record/result_row.hpp"

namespace scalebench {

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
