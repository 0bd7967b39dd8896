// SPDX-License-Identifier: Apache-2.0
// Results of osu_allreduce of the OSU Micro-Benchmarks (versions 3 to 7), with or without -f, as
// text. Its time is each rank's mean over iterations, then the mean over ranks; with -f the range
// over ranks becomes the skew.
#pragma once

#include <string>
#include <string_view>

#include "bench/study/import/foreign_text.hpp"
#include "bench/study/import/settings.hpp"

namespace scalebench {

/// As read_nccl_tests. The text says nothing of ranks, so `settings` must (UsageError).
ImportedFile read_osu(std::string_view text, const std::string& file, const Settings& settings);

}  // namespace scalebench
