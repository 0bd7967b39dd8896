// SPDX-License-Identifier: Apache-2.0
// What bench_throughput found, as rows of throughput.csv and samples.csv and as lines on stdout.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/training/roofline.hpp"
#include "bench/training/throughput/measure.hpp"

namespace scalebench {

/// Collective. One row for each rank, then one for all; that one alone, with status failed, for a
/// result with a failure.
std::vector<ResultRow> rows_of(const Ranks& ranks, const ThroughputOptions& options,
                               const ThroughputResult& result, const Roofline& roofline,
                               const Recorder& recorder);
/// Not collective: the row of a case that was not tried; `search`: because of what it found.
ResultRow skipped_row(const Ranks& ranks, const ThroughputOptions& options, const std::string& why,
                      const Recorder& recorder, std::optional<BatchSearch> search = {});
std::vector<ResultRow> samples_of(const ThroughputOptions& options, const ThroughputResult& result,
                                  const Recorder& recorder);

/// What goes before the first line in the chosen format.
std::string throughput_head(const ThroughputOptions& options, int ranks, const Roofline& roofline);
std::string throughput_line(const ResultRow& row, const std::string& format);

}  // namespace scalebench
