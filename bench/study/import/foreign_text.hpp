// SPDX-License-Identifier: Apache-2.0
// What is common to reading other programs' output: its lines without what terminals, editors and
// launchers put around them, and its numbers with the precision to which they were printed.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace scalebench {

/// Something in a foreign file that cannot be used, or contradicts the rest of it.
struct Finding {
  std::size_t line = 0;  // from 1; 0: the file as a whole
  std::string what;
};

struct ForeignLine {
  std::size_t number = 0;  // from 1
  std::string_view text;   // into what lines_of was given
};

inline constexpr std::size_t kLongestLine = 8192;  // characters; a regular expression is run on it

/// The lines of `text` without byte order mark, line ends and the prefix of `mpirun --tag-output`.
/// A line that is longer than `longest` or holds a NUL byte is left out and becomes a finding.
/// Throws UsageError, naming `file`, for UTF-16.
std::vector<ForeignLine> lines_of(std::string_view text, const std::string& file,
                                  std::vector<Finding>& findings,
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

}  // namespace scalebench
