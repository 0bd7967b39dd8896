// SPDX-License-Identifier: Apache-2.0
// What a rank is at and how far it came, as its main thread marks it and its watchdog reads it.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string_view>

#include "bench/program/watchdog/verdict.hpp"
#include "collectives/call_marks.hpp"

namespace scalebench {

/// Written by one thread, read by others.
class ProgressMarks {
 public:
  /// What may take a second may take so many before anybody is accused.
  static constexpr double kLimitOverExpected = 100;

  /// `patience`: times the limit, where a rank's life is seen from outside. `calls`, which may be
  /// null, outlive this.
  ProgressMarks(double limit_seconds, bool stretches, double patience,
                const CallMarks* calls = nullptr);
  void begin(std::string_view name, Stage stage);
  void end_cell();
  void expect(double operation_seconds);
  // One thread writes: no read-modify-write needs to be atomic.
  void enter() { entered_.store(entered() + 1, std::memory_order_relaxed); }
  /// Who reads this operation as left has it as entered, too.
  void leave() {
    left_.store(left_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
  RankProgress read() const;

 private:
  std::uint64_t entered() const { return entered_.load(std::memory_order_relaxed); }
  double least_seconds() const;

  const double limit_seconds_;
  const bool stretches_;
  const double patience_;
  const CallMarks* const calls_;
  std::atomic<std::uint64_t> entered_{0};
  std::atomic<std::uint64_t> left_{0};
  mutable std::mutex mutex_;
  RankProgress cell_;  // but for entered and left
};

}  // namespace scalebench
