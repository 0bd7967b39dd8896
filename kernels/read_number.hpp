// SPDX-License-Identifier: Apache-2.0
// A text as one number: all of it or nothing, whatever the locale is.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace scalebench {

/// `text` in decimal, without blanks and plus sign; nothing when a part of it belongs to no number,
/// when it is empty, or when Number cannot hold it. Doubles may be "inf" and "nan".
template <class Number>
std::optional<Number> read_number(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace scalebench
