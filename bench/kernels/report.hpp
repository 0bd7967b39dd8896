// SPDX-License-Identifier: Apache-2.0
// Turns Google Benchmark's repetitions into our rows: one repetition is one sample, the statistics
// are ours, and a row goes to stdout and, with a folder, into kernels.csv and samples.csv at once.
// A display reporter of its own, because Google's CSV is deprecated and its JSON has no intervals.
#pragma once

#include <benchmark/benchmark.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench/cli/exit.hpp"
#include "bench/kernels/cases.hpp"
#include "bench/kernels/timing.hpp"
#include "bench/record/csv.hpp"
#include "bench/record/result_row.hpp"

namespace scalebench {

struct KernelReportOptions {
  std::string out;     // folder, made if it is missing; empty: write no files
  std::string run_id;  // empty: the folder's name
  int launch = 0;
  std::string format = "table";  // or "csv"
  std::string device;            // name of the device, for rows of its memory
  std::string device_uuid;       // which is watched while its rows are measured
};

class KernelReporter : public benchmark::BenchmarkReporter {
 public:
  /// A case and how it ended; by the name under which it is registered. Both outlive the reporter.
  struct Entry {
    KernelCase one;
    KernelStatus status;
  };
  using Entries = std::map<std::string, Entry>;

  KernelReporter(KernelReportOptions options, const Entries& entries);

  bool ReportContext(const Context& context) override;
  void ReportRuns(const std::vector<Run>& runs) override;

  /// After the last case: of what has been reported.
  ExitCode exit_code() const;

 private:
  /// What is known of one case when its repetitions are over.
  struct Measured {
    std::vector<double> seconds;  // by repetition
    std::vector<double> enqueue_seconds;
    std::vector<DeviceSpell> spells;  // by repetition; empty: not watched
  };
  Measured measured(const Entry& entry, const std::vector<Run>& runs);
  ResultRow row_of(const Entry& entry, const Measured& measured) const;
  void write_samples(const Entry& entry, const Measured& measured);
  void print(const Entry& entry, const ResultRow& row) const;

  KernelReportOptions options_;
  const Entries& entries_;
  DeviceWatch watch_;
  std::optional<CsvWriter> cases_;
  std::optional<CsvWriter> samples_;
  std::size_t reported_ = 0;
  std::size_t measured_ = 0;
  std::size_t broken_ = 0;
};

}  // namespace scalebench
