// SPDX-License-Identifier: Apache-2.0
// The five number types of the suite, and the switch from a run-time DType to a C++ type.
// Names are nccl-tests' names, so that `-d half` means the same in both tools.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

namespace scalebench {

// IEEE 754 binary16 and bfloat16 as storage types: 16 bits that convert to and from float.
// Conversions round to nearest even, keep infinities and the upper bits of a NaN, and quiet it:
// bit for bit what the F16C instructions do. They compute every case and then choose, without a
// branch, so that a compiler can vectorise loops over them without any intrinsic.

struct Half {
  std::uint16_t bits = 0;

  Half() = default;
  explicit constexpr Half(float value) : bits(from_float(value)) {}

  explicit constexpr operator float() const {
    const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16U;
    const std::uint32_t magnitude = static_cast<std::uint32_t>(bits & 0x7fffU) << 13U;
    // 2^112 moves the exponent bias from 15 to 127 and makes subnormals normal.
    const float scaled = std::bit_cast<float>(magnitude) * 0x1p112F;
    const std::uint32_t special = magnitude >= 0x0f800000U ? 0x7f800000U : 0U;
    const std::uint32_t quiet = magnitude > 0x0f800000U ? 0x00400000U : 0U;
    return std::bit_cast<float>(sign | special | quiet | std::bit_cast<std::uint32_t>(scaled));
  }

  friend constexpr bool operator==(Half a, Half b) { return float(a) == float(b); }

 private:
  static constexpr std::uint16_t from_float(float value) {
    const std::uint32_t all = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = (all >> 16U) & 0x8000U;
    const std::uint32_t magnitude = all & 0x7fffffffU;
    // Adding 0.5 lets the float unit itself round at 2^-24, the last bit of a subnormal half.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
    const std::uint32_t subnormal = std::bit_cast<std::uint32_t>(shifted) - 0x3f000000U;
    const std::uint32_t odd = (magnitude >> 13U) & 1U;
    const std::uint32_t normal = (magnitude + 0xfffU + odd - 0x38000000U) >> 13U;
    const std::uint32_t nan = 0x7e00U | ((magnitude >> 13U) & 0x3ffU);
    std::uint32_t result = magnitude < 0x38800000U ? subnormal : normal;
    result = magnitude >= 0x477ff000U ? 0x7c00U : result;
    result = magnitude > 0x7f800000U ? nan : result;
    return static_cast<std::uint16_t>(sign | result);
  }
};

struct BFloat16 {
  std::uint16_t bits = 0;

  BFloat16() = default;
  explicit constexpr BFloat16(float value) : bits(from_float(value)) {}

  explicit constexpr operator float() const {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U);
  }

  friend constexpr bool operator==(BFloat16 a, BFloat16 b) { return float(a) == float(b); }

 private:
  static constexpr std::uint16_t from_float(float value) {
    const std::uint32_t all = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t rounded = (all + 0x7fffU + ((all >> 16U) & 1U)) >> 16U;
    const std::uint32_t nan = (all >> 16U) | 0x40U;
    return static_cast<std::uint16_t>((all & 0x7fffffffU) > 0x7f800000U ? nan : rounded);
  }
};

enum class DType : std::uint8_t { float32, float64, int32, float16, bfloat16 };

inline constexpr std::array kDTypes{DType::float32, DType::float64, DType::int32, DType::float16,
                                    DType::bfloat16};

/// Bytes of one element: 4, 8, 4, 2, 2.
constexpr std::size_t size_of(DType dtype) {
  constexpr std::array kBytes{sizeof(float), sizeof(double), sizeof(std::int32_t), sizeof(Half),
                              sizeof(BFloat16)};
  return kBytes[static_cast<std::size_t>(dtype)];
}

/// `float`, `double`, `int32`, `half` or `bfloat16`.
std::string_view name_of(DType dtype);

/// The inverse of `name_of`; empty for any other name.
std::optional<DType> dtype_named(std::string_view name);

template <class T>
inline constexpr DType kDTypeOf = DType::float32;
template <>
inline constexpr DType kDTypeOf<double> = DType::float64;
template <>
inline constexpr DType kDTypeOf<std::int32_t> = DType::int32;
template <>
inline constexpr DType kDTypeOf<Half> = DType::float16;
template <>
inline constexpr DType kDTypeOf<BFloat16> = DType::bfloat16;

/// Calls `function.template operator()<T>()` with the C++ type behind `dtype`.
template <class Function>
decltype(auto) with_type(DType dtype, Function&& function) {
  switch (dtype) {
    case DType::float64:
      return std::forward<Function>(function).template operator()<double>();
    case DType::int32:
      return std::forward<Function>(function).template operator()<std::int32_t>();
    case DType::float16:
      return std::forward<Function>(function).template operator()<Half>();
    case DType::bfloat16:
      return std::forward<Function>(function).template operator()<BFloat16>();
    case DType::float32:
      break;
  }
  return std::forward<Function>(function).template operator()<float>();
}

// The five reductions of the suite, under nccl-tests' names.

enum class ReduceOp : std::uint8_t { sum, prod, min, max, avg };

inline constexpr std::array kReduceOps{ReduceOp::sum, ReduceOp::prod, ReduceOp::min, ReduceOp::max,
                                       ReduceOp::avg};

/// `sum`, `prod`, `min`, `max` or `avg`.
std::string_view name_of(ReduceOp op);

// How one number becomes another: the rounding rules that all host kernels share.
// Arithmetic on 16-bit types is done in float and rounded once, when the result is stored. Every
// conversion rounds to nearest, ties to even; into int32 it saturates, and NaN becomes 0.
// Branch-free, for the vectoriser.

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
