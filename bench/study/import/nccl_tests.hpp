// SPDX-License-Identifier: Apache-2.0
// Results of nccl-tests (all_reduce_perf, versions 2.0 to 2.19; RCCL's and others' that print the
// same), as text or as the JSON of -J. A time is the mean of the operations of one loop, over ranks
// too unless -a says otherwise, so a row is one repetition in pipelined mode.
// Sources: NVIDIA/nccl-tests src/util.cu, src/common.cu, doc/PERFORMANCE.md.
#pragma once

#include <string>
#include <string_view>

#include "bench/study/import/imported.hpp"
#include "bench/study/import/settings.hpp"

namespace scalebench {

/// Reads what `text` holds, several runs one after the other included; each is a launch. `file` is
/// its name in messages. Cases are rows of allreduce.csv; what is none of all_reduce_perf's results
/// becomes a finding. A printed busbw that does not follow from time, size and ranks is one too.
/// Throws UsageError when the number of ranks is neither in the file nor among `settings`.
ImportedFile read_nccl_tests(std::string_view text, const std::string& file,
                             const Settings& settings);

}  // namespace scalebench
