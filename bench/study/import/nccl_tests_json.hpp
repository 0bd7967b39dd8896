// SPDX-License-Identifier: Apache-2.0
// The JSON that nccl-tests writes with -J (versions 1 to 3 of its format). Its `env`, a dump of the
// whole environment, is never kept: it holds secrets.
#pragma once

#include <string>
#include <string_view>

#include "bench/study/import/imported.hpp"
#include "bench/study/import/settings.hpp"

namespace scalebench {

/// As read_nccl_tests. Throws UsageError `file:line:column: what` for text that is no JSON, and for
/// a later version of the format.
ImportedFile read_nccl_tests_json(std::string_view text, const std::string& file,
                                  const Settings& settings);

}  // namespace scalebench
