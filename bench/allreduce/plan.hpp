// SPDX-License-Identifier: Apache-2.0
// Which cases a command line asks for, in the order in which they are measured.
#pragma once

#include <cstddef>
#include <vector>

#include "bench/allreduce/options.hpp"

namespace scalebench {

/// Sizes in bytes, ascending.
std::vector<std::size_t> sizes_of(const AllreduceOptions& options);

/// All cases on `transports` transports: what is compared (algorithms, transports) is always
/// neighbours, and so are the placements that nccl-tests shows in one line; sizes are ascending, or
/// everything is shuffled by the seed.
std::vector<AllreduceCase> plan_of(const AllreduceOptions& options, std::size_t transports);

/// Cap on the repetitions of one case of a plan, unless the options say it: 5 s, or less where that
/// would let the long cases together take more than two minutes.
double stop_seconds_of(const AllreduceOptions& options, const std::vector<AllreduceCase>& plan);

}  // namespace scalebench
