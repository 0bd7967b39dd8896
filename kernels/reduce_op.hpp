// SPDX-License-Identifier: Apache-2.0
// The five reductions of the suite, under nccl-tests' names.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace scalebench {

enum class ReduceOp : std::uint8_t { sum, prod, min, max, avg };

inline constexpr std::array kReduceOps{ReduceOp::sum, ReduceOp::prod, ReduceOp::min, ReduceOp::max,
                                       ReduceOp::avg};

/// `sum`, `prod`, `min`, `max` or `avg`.
std::string_view name_of(ReduceOp op);

/// The inverse of `name_of`; empty for any other name.
std::optional<ReduceOp> reduce_op_named(std::string_view name);

}  // namespace scalebench
