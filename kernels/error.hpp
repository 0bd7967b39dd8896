// SPDX-License-Identifier: Apache-2.0
// The two kinds of failure: what the user asked for is not valid (exit 2), and everything else.
// `fail` builds an Error with fmt-style text; what() is always one line fit for a terminal.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

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

}  // namespace scalebench
