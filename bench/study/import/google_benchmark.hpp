// SPDX-License-Identifier: Apache-2.0
// The JSON of Google Benchmark (--benchmark_out): each repetition is a value of its kernel;
// aggregates are left out, since they are made here.
#pragma once

#include <string>
#include <string_view>

#include "bench/study/import/foreign_text.hpp"
#include "bench/study/import/settings.hpp"

namespace scalebench {

/// Cases are rows of kernels.csv. Throws UsageError `file:line:column: what` for no JSON.
ImportedFile read_google_benchmark(std::string_view text, const std::string& file,
                                   const Settings& settings);

}  // namespace scalebench
