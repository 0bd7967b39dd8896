// SPDX-License-Identifier: Apache-2.0
// Two runs of one plan, measured in turns: two builds of which the same is asked. What the machine
// is like in a minute is in both sides of a ratio, and only the builds differ. Each side is a run
// of its own, as any other; their manifests have the same `pair`, by which comparisons know that
// rounds belong together.
#pragma once

#include <atomic>

#include "bench/cli/console.hpp"
#include "bench/study/run/resolved_study.hpp"

namespace scalebench {

/// Two builds' studies of one plan, from their folders to their seals, launch by launch in turns.
/// On the CPUs of one host both launches are there at once, and take turns of an epoch, a case or a
/// round of steps (Turns): what the host is like in a second is in both. Elsewhere, and where a
/// build's programs know no turns, one launch ends before the other starts. Which of the two begins
/// changes from round to round, so that a drift favours neither. Returns whether all launches of
/// both have ended well.
bool measure_pair(ResolvedStudy a, ResolvedStudy b, const std::atomic<bool>& stop,
                  Console& console);

}  // namespace scalebench
