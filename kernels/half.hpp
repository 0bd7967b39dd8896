// SPDX-License-Identifier: Apache-2.0
// IEEE 754 binary16 and bfloat16 as storage types: 16 bits that convert to and from float.
// Conversions round to nearest even, keep infinities and the upper bits of a NaN, and quiet it:
// bit for bit what the F16C instructions do. They compute every case and then choose, without a
// branch, so that a compiler can vectorise loops over them without any intrinsic.
#pragma once

#include <bit>
#include <cstdint>

namespace scalebench {

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

}  // namespace scalebench
