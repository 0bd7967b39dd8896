// SPDX-License-Identifier: Apache-2.0
// What a foreign file says, in our columns: the values of each case, launch by launch, and what
// could not be read. Readers (one for each kind of file) fill it; imported_rows makes rows of it.
// And its columns: which a user may set, because a file does not hold them, and which are measured.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/machine/host_files.hpp"
#include "bench/record/result_row.hpp"
#include "bench/study/import/foreign_text.hpp"

namespace scalebench {

/// One case as far as one place of a file tells it.
struct ImportedCase {
  ResultRow row;  // parameters, status where it is not ok, note; neither ids nor statistics
  std::vector<double> seconds;  // single values in their order
  std::vector<double> accuracies =
      {};  // of each of them, a share; NaN, or none at all: nobody says
};

/// One fresh start of the foreign program.
struct ImportedLaunch {
  std::vector<ImportedCase> cases;
  std::vector<std::string> command;  // its command line, where the file has it
};

struct ImportedFile {
  std::vector<ImportedLaunch> launches;
  std::vector<Remark> findings;
  /// What only a user can say of a part of it; asked where no other part is clear.
  std::vector<Remark> questions = {};
  Facts key, treatment;  // of the environment, as far as the file tells
};

// Columns whose values the user gives.

/// --set: columns that are the same in the whole file.
using Settings = std::vector<std::pair<std::string, std::string>>;

/// The columns of a case file that describe a case and may come from a user or a foreign file:
/// neither ids nor statistics.
std::vector<std::string_view> describing_columns(const Schema& schema);

/// The settings of each of `files` files out of texts "column=value" or "column=v1,v2,..." with a
/// value for each file. Throws UsageError for a column that may not be set or a value that is none.
std::vector<Settings> parse_settings(const std::vector<std::string>& texts, const Schema& schema,
                                     std::size_t files);

/// Throws UsageError, beginning with `place`, unless `value` may stand in that column.
void require_value(std::string_view place, std::string_view column, std::string_view value);

/// Whether its values are positive whole numbers.
bool is_count_column(std::string_view column);

/// Fills them in. Throws UsageError, naming `file`, where the row says something else already.
void apply(const Settings& settings, ResultRow& row, const std::string& file);

/// Fills in what neither the file nor the user says.
void set_where_empty(ResultRow& row, std::string_view column, std::string_view value);

/// What `column` is set to; empty when it is not.
std::string setting(const Settings& settings, std::string_view column);

// The columns whose values are measurements, their units, and the time that follows from a rate.

/// Whether the rows are of trainings: of all ranks together, unless they say otherwise.
bool is_training(const Schema& schema);

/// The columns of a case file that can carry its single values: "seconds" and, where a time follows
/// from them, its rates.
std::vector<std::string_view> value_columns(const Schema& schema);
bool carries_values(const Schema& schema, std::string_view column);

/// What a number in `unit` is multiplied by to be in the unit of the column's name: 1e-6 for
/// ("seconds", "us"). An empty unit is that of the name. Throws UsageError, beginning with `place`.
double unit_factor(std::string_view place, std::string_view column, std::string_view unit);

/// The seconds of one operation, step or epoch of the case `row` behind `value` of `column`. Throws
/// UsageError, beginning with `place`, where the row does not say of how many bytes or images.
double seconds_behind(std::string_view place, const ResultRow& row, std::string_view column,
                      double value);

/// What follows from the other cells of a row of epoch.csv: images of a known data set; the batch
/// of one rank from that of all, and back; one_device for one rank. Other rows stay as they are.
void complete_training(ResultRow& row);

/// Throws UsageError, beginning with `place`, for epochs whose ranks would train more images a
/// second than any device can: a step that is taken for an epoch is some thousand times too fast,
/// and looks like a result.
void require_possible(const ImportedCase& one, std::string_view place);

/// Whether the states that a log tells are those of an epoch: computing, the reduction that nothing
/// hides (transfer), and input and evaluation, which are none where it does not tell them. Takes
/// them out where they cannot be, and returns why; else nothing.
std::string check_states(ImportedCase& one);

}  // namespace scalebench
