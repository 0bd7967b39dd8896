// SPDX-License-Identifier: Apache-2.0
// The same study with two builds, in turns: what the machine is like in a minute is in both sides
// of a ratio, and only the builds differ. Each side is a run of its own, as any other; their
// manifests have the same `pair`, by which comparisons know that rounds belong together.
#pragma once

#include <array>
#include <filesystem>
#include <functional>
#include <vector>

#include "bench/cli/console.hpp"
#include "bench/cli/exit.hpp"
#include "bench/study/analysis/cells.hpp"
#include "bench/study/run/resolved_study.hpp"

namespace scalebench {

struct BuildRuns {
  std::array<std::filesystem::path, 2> folders;  // `out`/a and `out`/b
  bool complete = false;                         // every launch of both has ended well
};

/// Leaves those cells of a run that are wanted; null: all are.
using KeepCells = std::function<void(std::vector<Cell>&)>;

/// `builds`: folders of programs, as build_in takes them; the plan is that of this program. With
/// `keep` one round of the first build, in `out`/first, shows which launches hold those cells, and
/// only they are measured. Throws UsageError as resolve and build_in do, before anything starts,
/// and when no launch of the first round holds one.
BuildRuns measure_builds(const StudyChoice& choice,
                         const std::array<std::filesystem::path, 2>& builds,
                         const std::filesystem::path& out, const KeepCells& keep,
                         const Interruption& interruption, Console& console);

}  // namespace scalebench
