// SPDX-License-Identifier: Apache-2.0
// The number type of forward and backward passes. Weights, gradients and updates stay float32.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace scalebench {

/// tf32: float32 whose products and convolutions a CUDA card's tensor cores may round to TF32's ten
/// bits of fraction; float32 forbids it, whatever LibTorch's default. bf16 and fp16: autocast,
/// which computes matrix products and convolutions in that type and leaves the rest where its
/// accuracy needs float32, as torch.autocast does; fp16 with loss scaling.
enum class Precision : std::uint8_t { float32, tf32, bf16, fp16 };
inline constexpr std::array<std::string_view, 4> kPrecisionNames{"float32", "tf32", "bf16", "fp16"};

constexpr bool is_autocast(Precision precision) {
  return precision == Precision::bf16 || precision == Precision::fp16;
}

/// As in result files: `float`, `tf32`, `bf16` or `fp16`.
constexpr std::string_view dtype_label(Precision precision) {
  return precision == Precision::float32 ? "float"
                                         : kPrecisionNames[static_cast<std::size_t>(precision)];
}

}  // namespace scalebench
