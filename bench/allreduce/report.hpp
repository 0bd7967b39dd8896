// SPDX-License-Identifier: Apache-2.0
// One case of bench_allreduce as rows of allreduce.csv and samples.csv, and what stdout gets of it:
// a line of bench_allreduce's own table, or the row as CSV or JSON.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bench/allreduce/transports.hpp"
#include "bench/cli/console.hpp"
#include "bench/program/recorder.hpp"

namespace scalebench {

/// What the rows of one launch share.
struct AllreduceRowContext {
  const Recorder& recorder;
  const AllreduceMethod& method;
  Topology topology = {};
  std::vector<std::string> hosts = {};    // by rank
  std::vector<std::string> devices = {};  // by rank; empty texts without one

  int ranks() const { return static_cast<int>(hosts.size()); }
};

/// As the options say it, but for ranks that share a core.
AllreduceMethod method_of(const AllreduceOptions& options, const Recorder& recorder);

bool uses_devices(const std::vector<LaunchTransport>& transports);

/// Collective: each rank's card, where some transport uses it.
std::vector<std::string> devices_of(const Ranks& ranks,
                                    const std::vector<LaunchTransport>& transports,
                                    const RankDevices& devices);

ResultRow row_of(const AllreduceRowContext& context, const AllreduceCase& one,
                 const LaunchTransport& transport, const AllreduceResult& result);

/// What the rows of samples.csv of one case have in common; made once, since the case's id is a
/// hash.
ResultRow sample_head(const AllreduceRowContext& context, const AllreduceCase& one,
                      const LaunchTransport& transport);

/// Repetition `index` of that case.
ResultRow sample_of(ResultRow head, const AllreduceResult& result, std::size_t index);

struct AllreduceReportContext {
  const Console& console;
  const AllreduceRowContext& rows;
  std::vector<std::string> transports;  // of the launch
};

class AllreduceReport {
 public:
  /// `format`: table, csv or json (one object a line).
  AllreduceReport(AllreduceReportContext context, std::string format)
      : context_(std::move(context)), format_(std::move(format)) {}

  void head() const;
  /// One case that has ended, with so many wrong elements.
  void line(const ResultRow& row, std::size_t wrong);

 private:
  /// "# 2 rank(s) on 1 node(s), ..." and a line for each rank.
  std::string who_takes_part() const;
  /// A skipped case as a comment, once for each algorithm, transport and reason.
  void skip(const ResultRow& row);

  const AllreduceReportContext context_;
  const std::string format_;
  std::vector<std::string> skipped_;
};

}  // namespace scalebench
