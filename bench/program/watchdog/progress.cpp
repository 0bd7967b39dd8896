// SPDX-License-Identifier: Apache-2.0
#include "bench/program/watchdog/progress.hpp"

#include <algorithm>

namespace scalebench {

ProgressMarks::ProgressMarks(double limit_seconds, bool stretches, double patience)
    : limit_seconds_(limit_seconds), stretches_(stretches), patience_(patience) {
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
  cell_.limit_seconds = std::max(least_seconds(), 100 * operation_seconds);
}

RankProgress ProgressMarks::read() const {
  const std::lock_guard lock(mutex_);
  RankProgress progress = cell_;
  // In this order: an operation that begins and ends in between is then at most entered.
  progress.left = left_.load(std::memory_order_acquire);
  progress.entered = entered();
  return progress;
}

}  // namespace scalebench
