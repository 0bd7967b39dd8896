// SPDX-License-Identifier: Apache-2.0
// All cases of bench_throughput: every way to compute a step with every batch, one after the other.
#pragma once

#include <cstdint>
#include <optional>

#include "bench/cli/console.hpp"
#include "bench/program/program.hpp"
#include "bench/program/recorder.hpp"
#include "bench/training/roofline.hpp"
#include "bench/training/throughput/rows.hpp"

namespace scalebench {

class ThroughputRun {
 public:
  /// `options`: with the device of this rank. All of them outlive the run.
  ThroughputRun(const Ranks& ranks, ThroughputOptions options, Recorder& recorder,
                Console& console);

  /// Collective: measures, records and prints.
  ExitCode all_cases();

 private:
  void one_batch(std::int64_t batch);
  void largest(const MemoryLimit& limit);
  void measure(std::optional<BatchSearch> search);
  void skip(const std::string& why, std::optional<BatchSearch> search = {});
  void report(const std::vector<ResultRow>& rows);

  const Ranks& ranks_;
  ThroughputOptions options_;  // of the case at hand
  Recorder& recorder_;
  Console& console_;
  Roofline roofline_;
  Outcome outcome_;
  std::string lacking_;                  // why the device cannot do this way
  std::optional<std::int64_t> too_big_;  // the batch that this way had too little memory for
};

}  // namespace scalebench
