// SPDX-License-Identifier: Apache-2.0
// What bench_allreduce --groups and --pairs put on stdout: a line for each group, or the table of
// all pairs and who in it is slower than the others; or rows as CSV or JSON.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/allreduce/groups.hpp"
#include "bench/allreduce/options.hpp"
#include "bench/cli/console.hpp"
#include "bench/hosts/pair_outliers.hpp"
#include "bench/record/result_row.hpp"

namespace scalebench {

struct GroupedReportContext {
  const Console& console;
  std::string_view format;  // table, csv, json
  PairsOf pairs = PairsOf::nothing;
  const Topology& topology;
  const std::vector<std::string>& hosts;  // by rank
};

class GroupedReport {
 public:
  explicit GroupedReport(GroupedReportContext context) : context_(context) {}

  void head(std::string_view origin, std::string_view host_table) const;
  /// A group's row of allreduce_groups.csv. `title` names the case, whichever the group is.
  void line(const std::string& title, const AllreduceCase& one, std::span<const int> members,
            const ResultRow& row);
  /// The tables of pairs, case by case. True where a rank, a host or a pair is slower than others.
  bool foot() const;

 private:
  struct Pairs {
    std::string title;
    std::size_t bytes = 0;
    std::vector<PairTime> times;
    /// By pair: microseconds of a short message, else busbw.
    std::map<std::pair<int, int>, double> shown;
  };
  int members() const;
  std::string name_of_member(int member) const;
  std::string table_of(const Pairs& pairs) const;
  std::string sentence_of(const PairOutlier& outlier) const;
  std::string json_of(const Pairs& pairs, const std::vector<PairOutlier>& found) const;

  const GroupedReportContext context_;
  std::vector<Pairs> pairs_;  // by case, as it came
};

}  // namespace scalebench
