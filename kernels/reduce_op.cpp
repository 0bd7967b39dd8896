// SPDX-License-Identifier: Apache-2.0
#include "kernels/reduce_op.hpp"

namespace scalebench {

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
