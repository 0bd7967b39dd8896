// SPDX-License-Identifier: Apache-2.0
// What bench_allreduce puts on stdout: the columns that nccl-tests' users know, with the interval
// beside the time, or rows as CSV or JSON.
#pragma once

#include <string>

#include "bench/allreduce_case.hpp"
#include "bench/cli/console.hpp"
#include "bench/recorder.hpp"

namespace scalebench {

class AllreducePrinter {
 public:
  /// `format`: table, csv or json (one object a line).
  AllreducePrinter(std::string format, const Console& console)
      : format_(std::move(format)), console_(console) {}

  /// Collective: who takes part and how it is measured.
  void head(const Ranks& ranks, const Communicator& data, const AllreduceMethod& method,
            const std::string& origin) const;
  void line(const ResultRow& row) const;

 private:
  std::string format_;
  const Console& console_;
};

}  // namespace scalebench
