// SPDX-License-Identifier: Apache-2.0
// The machine and the software under a run, in three disjoint sets: what must be equal to compare
// at all (key), what may have caused a change (treatment), and what is noted only (observation).
// Software is a treatment on purpose: as part of the key, an upgrade would hide its own regression.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/record/facts.hpp"
#include "bench/record/linked_libraries.hpp"

namespace scalebench {

struct Environment {
  Facts key;
  Facts treatment;
  Facts observation;
};

/// Looks at this machine and process; a probe that finds nothing leaves a null with its reason.
/// Takes some milliseconds. `root` is another folder than / in tests only.
Environment capture_environment(const LinkedLibraries& libraries,
                                const std::filesystem::path& root = "/");

/// {"key": {...}, "treatment": {...}, "observation": {...}}.
nlohmann::json json_of(const Environment& environment);
/// Throws UsageError or nlohmann::json::exception when `json` is not what json_of makes.
Environment environment_of(const nlohmann::json& json);

}  // namespace scalebench
