// SPDX-License-Identifier: Apache-2.0
// The columns of osu_allreduce with its full statistics: each rank's mean time of one operation,
// and of these means the average, smallest and largest over ranks.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "bench/allreduce_report.hpp"

namespace scalebench {
namespace {

/// Each rank's mean own time, in seconds.
std::vector<double> means_of_ranks(const Timing& timing, int ranks) {
  std::vector<double> means(static_cast<std::size_t>(ranks));
  for (const Repetition& repetition : timing.repetitions) {
    for (std::size_t rank = 0; rank < means.size(); ++rank) {
      means[rank] += static_cast<double>(repetition.rank_seconds[rank]);
    }
  }
  for (double& mean : means) mean /= static_cast<double>(timing.repetitions.size());
  return means;
}

class OsuReport final : public AllreduceReport {
 public:
  using AllreduceReport::AllreduceReport;

  void head() override {
    print(
        fmt::format("# scalebench allreduce in the columns of osu_allreduce -f\n{}"
                    "{:<10}{:>18}{:>18}{:>18}{:>12}\n",
                    who_takes_part(), "# Size", "Avg Latency(us)", "Min Latency(us)",
                    "Max Latency(us)", "Iterations"));
  }

  void line(const AllreduceLine& line) override {
    const ResultRow& row = line.row;
    if (row.get("status") == "skipped") return skip(row);
    if (row.get("status") != "ok") {
      return print(
          fmt::format("# {} {}: {}\n", row.get("size_bytes"), row.get("status"), row.get("note")));
    }
    const std::vector<double> means = means_of_ranks(line.timing, context().rows.ranks());
    const double average =
        std::accumulate(means.begin(), means.end(), 0.0) / static_cast<double>(means.size());
    print(fmt::format("{:<10}{:>18.2f}{:>18.2f}{:>18.2f}{:>12}\n", row.get("size_bytes"),
                      1e6 * average, 1e6 * std::ranges::min(means), 1e6 * std::ranges::max(means),
                      line.timing.repetitions.size() * line.timing.operations));
  }
};

}  // namespace

std::unique_ptr<AllreduceReport> make_osu_report(AllreduceReportContext context) {
  return std::make_unique<OsuReport>(std::move(context));
}

}  // namespace scalebench
