// SPDX-License-Identifier: Apache-2.0
// Two forms in which results of collectives come; read_collectives tells them apart.
#pragma once

#include <string>
#include <string_view>

#include "bench/study/import/imported_case.hpp"

namespace scalebench {

ImportedFile read_nccl_json(std::string_view text, const std::string& file,
                            const Settings& settings);

}  // namespace scalebench
