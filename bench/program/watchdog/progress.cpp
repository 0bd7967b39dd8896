// SPDX-License-Identifier: Apache-2.0
#include "bench/program/watchdog/progress.hpp"

#include <algorithm>

namespace scalebench {
namespace {

constexpr double kSlowBytesPerSecond = 1e9;  // of a message; a hundred times as long is waited

}  // namespace

ProgressMarks::ProgressMarks(double limit_seconds, bool stretches, double patience,
                             const CallMarks* calls)
    : limit_seconds_(limit_seconds), stretches_(stretches), patience_(patience), calls_(calls) {
  cell_.limit_seconds = least_seconds();
}

double ProgressMarks::least_seconds() const {
  return (cell_.shows_life() ? patience_ : 1) * limit_seconds_;
}

void ProgressMarks::begin(std::string_view name, Stage stage) {
  const std::lock_guard lock(mutex_);
  ++cell_.cells;
  cell_.entered_before = entered();
  cell_.stage = stage;
  cell_.limit_seconds = least_seconds();
  const std::size_t length = name.copy(cell_.name, sizeof(cell_.name) - 1);
  cell_.name[length] = '\0';
}

void ProgressMarks::end_cell() {
  const std::lock_guard lock(mutex_);
  cell_.stage = Stage::between;
  cell_.limit_seconds = least_seconds();
}

void ProgressMarks::expect(double operation_seconds) {
  if (!stretches_) return;
  const std::lock_guard lock(mutex_);
  cell_.limit_seconds = std::max(least_seconds(), kLimitOverExpected * operation_seconds);
}

RankProgress ProgressMarks::read() const {
  const std::lock_guard lock(mutex_);
  RankProgress progress = cell_;
  // In this order: an operation that begins and ends in between is then at most entered.
  progress.left = left_.load(std::memory_order_acquire);
  progress.entered = entered();
  if (calls_ == nullptr) return progress;
  const CallMarks::Count calls = calls_->read();
  progress.calls = calls.begun + calls.ended;
  // One that works waits for others now, and its limit is that of a span.
  if (progress.shows_life() && calls.begun > calls.ended) {
    progress.waits = 1;
    progress.limit_seconds = limit_seconds_;
    const double expected = static_cast<double>(calls.bytes) / kSlowBytesPerSecond;
    if (stretches_)
      progress.limit_seconds = std::max(limit_seconds_, kLimitOverExpected * expected);
  }
  return progress;
}

}  // namespace scalebench
