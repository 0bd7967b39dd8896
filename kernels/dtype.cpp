// SPDX-License-Identifier: Apache-2.0
#include "kernels/dtype.hpp"

namespace scalebench {

std::size_t size_of(DType dtype) {
  return with_type(dtype, []<class T>() { return sizeof(T); });
}

std::string_view name_of(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return "float";
    case DType::float64:
      return "double";
    case DType::int32:
      return "int32";
    case DType::float16:
      return "half";
    case DType::bfloat16:
      return "bfloat16";
  }
  return "unknown";
}

std::optional<DType> dtype_named(std::string_view name) {
  for (const DType dtype : kDTypes) {
    if (name_of(dtype) == name) return dtype;
  }
  return std::nullopt;
}

std::string_view name_of(ReduceOp op) {
  switch (op) {
    case ReduceOp::prod:
      return "prod";
    case ReduceOp::min:
      return "min";
    case ReduceOp::max:
      return "max";
    case ReduceOp::avg:
      return "avg";
    case ReduceOp::sum:
      break;
  }
  return "sum";
}

std::optional<ReduceOp> reduce_op_named(std::string_view name) {
  for (const ReduceOp op : kReduceOps) {
    if (name_of(op) == name) return op;
  }
  return std::nullopt;
}

}  // namespace scalebench
