// SPDX-License-Identifier: Apache-2.0
#include "kernels/dtype.hpp"

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

namespace {

template <class Value, std::size_t kCount>
std::optional<Value> value_named(const std::array<Value, kCount>& all, std::string_view name) {
  for (const Value value : all) {
    if (name_of(value) == name) return value;
  }
  return std::nullopt;
}

}  // namespace

std::optional<DType> dtype_named(std::string_view name) { return value_named(kDTypes, name); }

std::optional<ReduceOp> reduce_op_named(std::string_view name) {
  return value_named(kReduceOps, name);
}

}  // namespace scalebench
