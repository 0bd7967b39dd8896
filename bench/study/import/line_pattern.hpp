// SPDX-License-Identifier: Apache-2.0
// A regular expression for the lines of a log: in time that grows with the line's length, whatever
// the expression, and fast on the lines that it does not match.
#pragma once

#include <optional>
#include <regex>
#include <string>
#include <string_view>

namespace scalebench {

class LinePattern {
 public:
  /// ECMAScript syntax. Throws UsageError, beginning with `place`, for a bad expression and one
  /// without a group.
  LinePattern(std::string_view place, const std::string& expression);

  /// What the first group holds at the first match in `line`; nothing without a match.
  std::optional<std::string_view> first_group(std::string_view line) const;

 private:
  std::regex regex_;
  std::string literal_;  // every match contains it; empty: unknown
};

/// The longest text that every match of `expression` contains, as far as a look at its plain
/// characters tells; empty when it does not.
std::string literal_in(std::string_view expression);

}  // namespace scalebench
