// SPDX-License-Identifier: Apache-2.0
// What is common to reading other programs' output: its lines without what terminals, editors and
// launchers put around them, and its numbers with the precision to which they were printed.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/machine/host_files.hpp"
#include "bench/record/result_row.hpp"

namespace re2 {
class RE2;
}

namespace scalebench {

/// Something in a foreign file that cannot be used, or contradicts the rest of it.
struct Remark {
  std::size_t line = 0;  // from 1; 0: the file as a whole
  std::string what;
};

struct ForeignLine {
  std::size_t number = 0;  // from 1
  std::string_view text;   // into what lines_of was given
};

inline constexpr std::size_t kLongestLine = 8192;  // characters; a file without line ends is no log

/// The lines of `text` without byte order mark, line ends and the prefix of `mpirun --tag-output`.
/// A line that is longer than `longest` or holds a NUL byte is left out and becomes a finding.
/// Throws UsageError, naming `file`, for UTF-16.
std::vector<ForeignLine> lines_of(std::string_view text, const std::string& file,
                                  std::vector<Remark>& findings,
                                  std::size_t longest = kLongestLine);

/// What blanks divide.
std::vector<std::string_view> words_of(std::string_view text);

/// The whole of `text` as a finite number with a decimal point, whatever the locale; nothing for
/// "1,5", "N/A", "-nan", "inf", "1e999" and "".
std::optional<double> decimal_of(std::string_view text);

/// A number as printed: its true value is within `half_unit` of `value`.
struct PrintedNumber {
  double value = 0;
  double half_unit = 0;  // half a unit of the last digit
};
std::optional<PrintedNumber> printed_number(std::string_view text);

/// Whether the whole of `text` is a positive whole number below 2^62.
bool is_count(std::string_view text);

/// "name: 'text'" and, where a comma or a word explains it, why that is no number.
std::string no_number(std::string_view name, std::string_view text);

// What a foreign file says, in our columns: the values of each case, launch by launch, and what
// could not be read. Readers (one for each kind of file) fill it; imported_rows makes rows of it.

/// One case as far as one place of a file tells it.
struct ImportedCase {
  ResultRow row;  // parameters, status where it is not ok, note; neither ids nor statistics
  std::vector<double> seconds;        // single values in their order
  std::vector<ResultRow> accuracies;  // of accuracy.csv: one an epoch, parameters left out
};

/// The cases of a launch, packed: a log may hold 100 000.
class ImportedCases {
 public:
  ImportedCases() = default;
  ImportedCases(const std::vector<ImportedCase>& cases);
  ImportedCases(std::initializer_list<ImportedCase> cases);

  /// Throws Error for a case of another file than the first one.
  void push_back(const ImportedCase& one);
  std::size_t size() const { return rows_.size(); }
  bool empty() const { return rows_.empty(); }
  ImportedCase at(std::size_t place) const;
  ImportedCase operator[](std::size_t place) const { return at(place); }

 private:
  PackedRows rows_;
  std::vector<double> seconds_;    // of all cases
  std::vector<std::size_t> ends_;  // where in seconds_ those of each case end
  std::map<std::size_t, std::vector<ResultRow>> accuracies_;  // few cases have any
};

/// One fresh start of the foreign program.
struct ImportedLaunch {
  ImportedCases cases;
  std::vector<std::string> command;  // its command line, where the file has it
};

struct ImportedFile {
  std::vector<ImportedLaunch> launches;
  std::vector<Remark> findings;
  Facts key, treatment;              // of the environment, as far as the file tells
  std::vector<std::string> remarks;  // what a user should know of rows that are right
};

/// --set: columns that are the same in the whole file.
using Settings = std::vector<std::pair<std::string, std::string>>;

// Foreign JSON: parsed with a place in the complaint, and read without exceptions for what is not
// there.

/// Throws UsageError `file:line:column: what`. A byte order mark is skipped.
nlohmann::json parse_foreign_json(std::string_view text, const std::string& file);

/// The member as text, numbers as they are written; empty when it is absent, null or a structure.
std::string member_text(const nlohmann::json& object, const char* name);

/// The member, or null (a JSON null) when it is absent.
const nlohmann::json& member(const nlohmann::json& object, const char* name);

// A regular expression for the lines of a log: in time that grows with the line's length, whatever
// the expression.

class LinePattern {
 public:
  /// RE2 syntax: ECMAScript's without back-references and looking around. Throws UsageError,
  /// beginning with `place`, for a bad expression and one without a group.
  LinePattern(std::string_view place, const std::string& expression);
  ~LinePattern();

  /// What the first group holds at the first match in `line`; nothing without a match.
  std::optional<std::string_view> first_group(std::string_view line) const;

 private:
  std::unique_ptr<const re2::RE2> regex_;
};

}  // namespace scalebench
