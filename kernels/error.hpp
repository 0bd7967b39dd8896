// SPDX-License-Identifier: Apache-2.0
// The two kinds of failure: what the user asked for is not valid (exit 2), and everything else.
// `fail` builds an Error with fmt-style text; what() is always one line fit for a terminal.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace scalebench {

/// Something failed while running; the message names what and where.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The request itself is invalid: unknown name, impossible size, malformed file.
class UsageError : public Error {
 public:
  using Error::Error;
};

/// What was asked for is valid but impossible in this build or place: becomes a `skipped` row.
class Unavailable : public Error {
 public:
  using Error::Error;
};

/// Throws `Kind` (default Error) with formatted text.
template <class Kind = Error, class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> text, Args&&... args) {
  throw Kind(fmt::format(text, std::forward<Args>(args)...));
}

// One way to refuse a name: say what was given, what is valid, and which valid name is nearest.

/// "unknown algorithm 'rnig'; valid: naive, ring, native (did you mean 'ring'?)". The guess is left
/// out when nothing is near.
std::string unknown_name(std::string_view kind, std::string_view given,
                         std::span<const std::string_view> valid);

/// The valid name with the smallest edit distance (at most a third of its length, rounded up),
/// or empty.
std::string_view nearest_name(std::string_view given, std::span<const std::string_view> valid);

/// The row of `table` whose member `name` is `given`; throws UsageError with unknown_name().
template <class Rows, class Name>
const auto& row_named(const Rows& table, Name name, std::string_view kind, std::string_view given) {
  const auto found = std::ranges::find(table, given, name);
  if (found != std::ranges::end(table)) return *found;
  std::vector<std::string_view> names;
  for (const auto& row : table) names.push_back(std::invoke(name, row));
  throw UsageError(unknown_name(kind, given, names));
}

}  // namespace scalebench
