// SPDX-License-Identifier: Apache-2.0
#include "kernels/dtype.hpp"

#include <algorithm>

namespace scalebench {

std::string_view name_of(DType dtype) {
  static constexpr std::array<std::string_view, kDTypes.size()> kNames{"float", "double", "int32",
                                                                       "half", "bfloat16"};
  return kNames[static_cast<std::size_t>(dtype)];
}

std::string_view name_of(ReduceOp op) {
  static constexpr std::array<std::string_view, kReduceOps.size()> kNames{"sum", "prod", "min",
                                                                          "max", "avg"};
  return kNames[static_cast<std::size_t>(op)];
}

std::optional<DType> dtype_named(std::string_view name) {
  const auto found = std::ranges::find(kDTypes, name, [](DType dtype) { return name_of(dtype); });
  return found == kDTypes.end() ? std::nullopt : std::optional(*found);
}

}  // namespace scalebench
