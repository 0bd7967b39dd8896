// SPDX-License-Identifier: Apache-2.0
// What bench_allreduce puts on stdout: its own table, or rows as CSV or JSON.
#pragma once

#include <cstddef>
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
};

class AllreduceReport {
 public:
  explicit AllreduceReport(AllreduceReportContext context) : context_(std::move(context)) {}
  virtual ~AllreduceReport() = default;
  virtual void head() {}
  /// One case that has ended, with so many wrong elements.
  virtual void line(const ResultRow& row, std::size_t wrong) = 0;

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

/// `format`: table, csv or json (one object a line).
std::unique_ptr<AllreduceReport> make_allreduce_report(std::string_view format,
                                                       AllreduceReportContext context);

}  // namespace scalebench
