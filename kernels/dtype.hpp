// SPDX-License-Identifier: Apache-2.0
// The five number types of the suite, and the switch from a run-time DType to a C++ type.
// Names are nccl-tests' names, so that `-d half` means the same in both tools.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "kernels/half.hpp"

namespace scalebench {

enum class DType : std::uint8_t { float32, float64, int32, float16, bfloat16 };

inline constexpr std::array kDTypes{DType::float32, DType::float64, DType::int32, DType::float16,
                                    DType::bfloat16};

/// Bytes of one element: 4, 8, 4, 2, 2.
std::size_t size_of(DType dtype);

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

}  // namespace scalebench
