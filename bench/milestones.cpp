// SPDX-License-Identifier: Apache-2.0
#include "bench/milestones.hpp"

#include <fmt/format.h>

#include "bench/measure/clock_sync.hpp"

namespace scalebench {

const std::vector<std::string>& milestone_columns() {
  static const std::vector<std::string> kColumns{"seconds", "host", "rank",
                                                 "event",   "step", "note"};
  return kColumns;
}

Milestones::Milestones(const Ranks& ranks, const std::string& path) : ranks_(ranks) {
  if (path.empty()) return;
  // One of them writes the header.
  if (ranks.first()) file_.emplace(path, milestone_columns());
  ranks.host.barrier();
  if (!ranks.first()) file_.emplace(path, milestone_columns());
}

void Milestones::note(std::string_view event, std::int64_t step, std::string_view text) {
  if (!file_) return;
  file_->append({fmt::format("{:.6f}", local_seconds()), ranks_.session.host(),
                 std::to_string(ranks_.session.rank()), std::string(event), std::to_string(step),
                 std::string(text)});
}

}  // namespace scalebench
