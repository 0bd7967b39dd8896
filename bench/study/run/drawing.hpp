// SPDX-License-Identifier: Apache-2.0
// Drawing what was measured: the scripts that make figures and reports from a folder's files.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "bench/cli/console.hpp"

namespace scalebench {

/// Runs `script` of scripts/ on a finished folder, with `more` arguments. A failure costs a picture
/// and never a result: it is a warning with its reason, and what the script said stays in
/// `folder`/figures/`script`/. Returns whether it succeeded.
bool draw(const std::filesystem::path& folder, std::string_view script, Console& console,
          const std::vector<std::string>& more = {});

/// The figures of a run, where there is a matplotlib, and its report.html; whether there is one.
bool draw_run(const std::filesystem::path& folder, Console& console,
              const std::vector<std::string>& more = {});

}  // namespace scalebench
