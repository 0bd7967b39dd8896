// SPDX-License-Identifier: Apache-2.0
// One case of bench_allreduce as rows of allreduce.csv and samples.csv.
#pragma once

#include <string>

#include "bench/allreduce_case.hpp"
#include "bench/recorder.hpp"

namespace scalebench {

/// Parameters that name the case, without the number of ranks.
std::string canonical(const AllreduceCase& one, const Communicator& data,
                      const AllreduceMethod& method);

ResultRow row_of(const AllreduceCase& one, const AllreduceResult& result, const Communicator& data,
                 const AllreduceMethod& method, const Recorder& recorder);

/// Repetition `index` of the case as a row of samples.csv.
ResultRow sample_of(const AllreduceCase& one, const Timing& timing, std::size_t index,
                    const Communicator& data, const AllreduceMethod& method,
                    const Recorder& recorder);

}  // namespace scalebench
