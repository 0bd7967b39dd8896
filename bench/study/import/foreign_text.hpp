// SPDX-License-Identifier: Apache-2.0
// What readers of other programs' output share: its lines without what terminals, editors and
// launchers put around them, its numbers with the precision to which they were printed, and the
// patterns that find them.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace re2 {
class RE2;
}

namespace scalebench {

/// Something in a foreign file that cannot be used, or contradicts the rest of it.
struct Remark {
  std::size_t line = 0;  // from 1; 0: the file as a whole
  std::string what;
};

/// "a.log:7: what".
std::string text_of(const std::string& file, const Remark& remark);

struct ForeignLine {
  std::size_t number = 0;  // from 1
  std::string_view text;   // into what lines_of was given
  std::string_view bare;   // without what nearly all lines of the file begin with
};

inline constexpr std::size_t kLongestLine = 8192;  // characters; a file without line ends is no log

/// The lines of `text` without byte order mark and line ends; and what is left of them without the
/// tags, times and levels that most begin with.
/// A line that is longer than kLongestLine or holds a NUL byte is left out and becomes a finding.
/// Throws UsageError, naming `file`, for what is no text.
std::vector<ForeignLine> lines_of(std::string_view text, const std::string& file,
                                  std::vector<Remark>& findings);

/// What blanks divide.
std::vector<std::string_view> words_of(std::string_view text);

/// The whole of `text` as a finite number with a decimal point, whatever the locale; nothing for
/// "1,5", "N/A", "-nan", "inf", "1e999" and "".
std::optional<double> decimal_of(std::string_view text);

/// The same of a number in a line: "6,712" is 6712 where the line writes another one with a point,
/// or has two commas. Without a line it is a whole number, whose commas divide thousands.
std::optional<double> number_in_line(std::string_view text, std::string_view line);

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

// A regular expression for the lines of a log: in time that grows with the line's length, whatever
// the expression.

class LinePattern {
 public:
  /// RE2 syntax: ECMAScript's without back-references and looking around. Throws UsageError,
  /// beginning with `place`, for a bad expression and one without a group.
  LinePattern(std::string_view place, const std::string& expression);

  const std::string& expression() const;
  /// What the first group holds at the first match in `line`; nothing without a match.
  std::optional<std::string_view> first_group(std::string_view line) const;
  /// In the line as it is, else without its prefix.
  std::optional<std::string_view> first_group(const ForeignLine& line) const {
    const auto group = first_group(line.text);
    return group ? group : first_group(line.bare);
  }

 private:
  std::shared_ptr<const re2::RE2> regex_;
};

}  // namespace scalebench
