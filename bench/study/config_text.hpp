// SPDX-License-Identifier: Apache-2.0
// The effective configuration of a study as TOML: what is measured once the file, the defaults and
// the command line have had their say. Reading it back gives the same study.
#pragma once

#include <string>

#include "bench/study/study_config.hpp"

namespace scalebench {

std::string config_text(const StudyConfig& config);

}  // namespace scalebench
