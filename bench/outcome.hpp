// SPDX-License-Identifier: Apache-2.0
// How the cases of a program have ended so far: its exit code, and how long the rest may take.
#pragma once

#include <cstddef>
#include <string_view>

#include "bench/exit_code.hpp"
#include "bench/measure/clock_sync.hpp"

namespace scalebench {

class Outcome {
 public:
  /// `status`: ok, skipped, wrong or failed.
  void count(std::string_view status) {
    ++cases_;
    if (status == "ok") ++measured_;
    if (status == "wrong" || status == "failed") ++broken_;
  }
  /// From the mean of the cases so far; -1 before the first has ended.
  double seconds_left(std::size_t cases_left) const {
    if (cases_ == 0) return -1;
    return (local_seconds() - begin_) / static_cast<double>(cases_) *
           static_cast<double>(cases_left);
  }
  /// A run in which nothing was measured is never a success.
  ExitCode exit_code() const {
    if (broken_ > 0) return ExitCode::incomplete;
    return measured_ > 0 ? ExitCode::ok : ExitCode::nothing_measured;
  }

 private:
  double begin_ = local_seconds();
  std::size_t cases_ = 0;
  std::size_t measured_ = 0;
  std::size_t broken_ = 0;
};

}  // namespace scalebench
