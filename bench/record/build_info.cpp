// SPDX-License-Identifier: Apache-2.0
#include "bench/record/build_info.hpp"

#include "commit.inc"

namespace scalebench {

BuildInfo build_info() {
  BuildInfo info;
  info.version = SCALEBENCH_VERSION;
  const std::string commit = SCALEBENCH_COMMIT;
  if (!commit.empty()) info.commit = commit;
  if (SCALEBENCH_DIRTY >= 0) info.dirty = SCALEBENCH_DIRTY == 1;
  info.compiler = SCALEBENCH_COMPILER;
  info.flags = SCALEBENCH_FLAGS;
  info.build_type = SCALEBENCH_BUILD_TYPE;
#ifdef __OPTIMIZE__
  info.optimized = true;
#endif
  info.sanitized = std::string(SCALEBENCH_SANITIZERS) != "";
  return info;
}

}  // namespace scalebench
