// SPDX-License-Identifier: Apache-2.0
// What this binary was built from and how, as known when it was built.
#pragma once

#include <optional>
#include <string>

namespace scalebench {

struct BuildInfo {
  std::string version;                // "0.1.0"
  std::optional<std::string> commit;  // 40 hex digits; unknown where git knew none
  std::optional<bool> dirty;          // tracked files differed from the commit
  std::string compiler;               // "GNU 12.2.0"
  std::string flags;                  // "-O3 -DNDEBUG"
  std::string build_type;             // "Release"
  bool optimized = false;
  bool sanitized = false;
};

BuildInfo build_info();

}  // namespace scalebench
