// SPDX-License-Identifier: Apache-2.0
// A text, or a value of JSON, as one number: all of it or nothing, whatever the locale is.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

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

/// The whole number that a value of nlohmann/json is; nothing when it is another kind of value, has
/// a fraction or an exponent, or when Number cannot hold it: its own get() would cut off bits.
template <class Number, class Json>
std::optional<Number> whole_number(const Json& value) {
  if (!value.is_number_integer()) return std::nullopt;
  if (value.is_number_unsigned()) {
    const auto number = value.template get<std::uint64_t>();
    return std::in_range<Number>(number) ? std::optional(static_cast<Number>(number))
                                         : std::nullopt;
  }
  const auto number = value.template get<std::int64_t>();
  return std::in_range<Number>(number) ? std::optional(static_cast<Number>(number)) : std::nullopt;
}

}  // namespace scalebench
