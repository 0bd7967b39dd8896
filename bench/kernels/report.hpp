// SPDX-License-Identifier: Apache-2.0
// Turns Google Benchmark's repetitions into our rows: one repetition is one sample, the statistics
// are ours, and a row goes to stdout and, with a folder, into kernels.csv and samples.csv at once.
// A display reporter of our own, because Google's CSV is deprecated and its JSON has no intervals.
#pragma once

#include <map>
#include <string>

#include "bench/cli/exit.hpp"
#include "bench/kernels/cases.hpp"
#include "bench/program/recorder.hpp"

namespace scalebench {

struct KernelReportOptions {
  RecordOptions record;          // its folder is made if it is missing, and names the run
  std::string format = "table";  // or "csv"
  std::string device;            // name of the device, for rows of its memory
  std::string device_uuid;       // which is watched while its rows are measured
};

/// A case and how it ended.
struct KernelEntry {
  KernelCase one;
  KernelStatus status;
};
/// By the name under which they are registered.
using KernelEntries = std::map<std::string, KernelEntry>;

/// Runs what is registered with Google Benchmark and was asked for.
ExitCode run_kernels(KernelReportOptions options, const KernelEntries& entries);

}  // namespace scalebench
