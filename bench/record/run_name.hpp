// SPDX-License-Identifier: Apache-2.0
// What runs are called: by whoever names one on a command line, and by a night, which measures
// other runs beside its own.
#pragma once

#include <filesystem>
#include <string>

namespace scalebench {

inline constexpr const char* kLatest = "latest";

/// The run's folder that a user means: `latest` is the newest in results/, and FOLDER/latest that
/// in FOLDER, side runs apart; all else, and a folder of that name, is itself. A slash at its end
/// says nothing. Throws UsageError where there is no run.
std::filesystem::path run_meant(const std::filesystem::path& typed);

// Side runs of a night, from the name of the night's own run: with the accepted build, and of the
// suspects again.

std::string accepted_name(const std::string& run_id);
std::string rerun_name(const std::string& run_id);

/// Whether it is any of these.
bool is_side_run(const std::filesystem::path& run);

}  // namespace scalebench
