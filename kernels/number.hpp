// SPDX-License-Identifier: Apache-2.0
// How one number becomes another: the rounding rules that all host kernels share.
// Arithmetic on 16-bit types is done in float and rounded once, when the result is stored. Every
// conversion rounds to nearest, ties to even; into int32 it saturates, and NaN becomes 0.
// Branch-free, for the vectoriser.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "kernels/half.hpp"

namespace scalebench {

/// True for the two types that are stored in 16 bits and computed in float.
template <class T>
inline constexpr bool kStoredOnly = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

/// The type in which arithmetic on T is done: float for Half and BFloat16, else T.
template <class T>
using ComputeType = std::conditional_t<kStoredOnly<T>, float, T>;

/// Nearest int32; saturates, NaN becomes 0.
constexpr std::int32_t nearest_int32(double value) {
  constexpr double kLowest = -2147483648.0;
  constexpr double kHighest = 2147483647.0;
  // 1.5 * 2^52: the sum has no bits left for a fraction, so the addition itself rounds, and the
  // low half of its bits is the integer.
  constexpr double kRounder = 6755399441055744.0;
  double clamped = value < kLowest ? kLowest : value;
  clamped = clamped > kHighest ? kHighest : clamped;
  clamped = value == value ? clamped : 0.0;
  return static_cast<std::int32_t>(
      static_cast<std::uint32_t>(std::bit_cast<std::uint64_t>(clamped + kRounder)));
}

/// Float next to `value` on the side of zero, its last bit set when anything was lost: a second
/// rounding to 16 bits then gives what a single one would have given.
constexpr float rounded_to_odd(double value) {
  const float nearest = static_cast<float>(value);
  const double back = static_cast<double>(nearest);
  const bool away = (back > value && value > 0) || (back < value && value < 0);
  const std::uint32_t toward_zero = std::bit_cast<std::uint32_t>(nearest) - (away ? 1U : 0U);
  return std::bit_cast<float>(toward_zero | (back != value ? 1U : 0U));
}

/// `value`, as arithmetic on From produced it, in the type that arithmetic on To uses and ready to
/// be stored as To.
template <class To, class From>
constexpr ComputeType<To> converted(ComputeType<From> value) {
  if constexpr (std::is_same_v<To, std::int32_t> && !std::is_same_v<From, std::int32_t>) {
    return nearest_int32(static_cast<double>(value));
  } else if constexpr (kStoredOnly<To> && !std::is_same_v<ComputeType<From>, float>) {
    return rounded_to_odd(static_cast<double>(value));
  } else {
    return static_cast<ComputeType<To>>(value);
  }
}

}  // namespace scalebench
