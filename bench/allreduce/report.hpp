// SPDX-License-Identifier: Apache-2.0
// What bench_allreduce puts on stdout: its own table, rows as CSV or JSON, or the columns that
// users of nccl-tests or of the OSU benchmarks know and have parsers for.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/allreduce/rows.hpp"
#include "bench/cli/console.hpp"

namespace scalebench {

struct AllreduceReportContext {
  const Console& console;
  const AllreduceRowContext& rows;
  std::vector<std::string> transports;  // of the launch
  std::string host_table;               // lines of comment, of several hosts
  bool both_placements = false;         // each size comes out of place, then in place
};

/// One case that has ended.
struct AllreduceLine {
  const ResultRow& row;
  const Timing& timing;
  double bound_busbw = 0;  // GB/s that memory alone would allow; NaN: not measured
};

class AllreduceReport {
 public:
  explicit AllreduceReport(AllreduceReportContext context) : context_(std::move(context)) {}
  virtual ~AllreduceReport() = default;
  virtual void head() {}
  virtual void line(const AllreduceLine& line) = 0;
  virtual void foot() {}

 protected:
  const AllreduceReportContext& context() const { return context_; }
  void print(std::string_view text) const { context_.console.result(text); }
  /// "# 2 rank(s) on 1 node(s), ..." and a line for each rank.
  std::string who_takes_part() const;
  /// A skipped case as a comment, once for each algorithm, transport and reason.
  void skip(const ResultRow& row);

 private:
  const AllreduceReportContext context_;
  std::vector<std::string> skipped_;
};

/// `format`: table, csv, json (one object a line), nccl or osu.
std::unique_ptr<AllreduceReport> make_allreduce_report(std::string_view format,
                                                       AllreduceReportContext context);

}  // namespace scalebench
