// SPDX-License-Identifier: Apache-2.0
// The same study with two builds, in turns: what the machine is like in a minute is in both sides
// of a ratio, and only the builds differ. Each side is a run of its own, as any other; their
// manifests have the same `pair`, by which comparisons know that rounds belong together.
#pragma once

#include <array>
#include <filesystem>

#include "bench/cli/console.hpp"
#include "bench/cli/exit.hpp"
#include "bench/study/run/resolved_study.hpp"

namespace scalebench {

struct BuildRuns {
  std::array<std::filesystem::path, 2> folders;  // `out`/a and `out`/b
  bool complete = false;                         // every launch of both has ended well
};

/// `builds`: folders of programs, as build_in takes them; the plan is that of this program. Throws
/// UsageError as resolve and build_in do, before anything starts.
BuildRuns measure_builds(const StudyChoice& choice,
                         const std::array<std::filesystem::path, 2>& builds,
                         const std::filesystem::path& out, const Interruption& interruption,
                         Console& console);

}  // namespace scalebench
