// SPDX-License-Identifier: Apache-2.0
#include "bench/program/watchdog/watchdog.hpp"

#include <algorithm>
#include <exception>
#include <utility>
#include <vector>

#include "bench/program/watchdog/guard.hpp"

namespace scalebench {

ProgressMarks::ProgressMarks(double limit_seconds) : limit_seconds_(limit_seconds) {
  cell_.limit_seconds = limit_seconds;
}

void ProgressMarks::begin_cell(std::string_view name) {
  const std::lock_guard lock(mutex_);
  ++cell_.cells;
  cell_.entered_before = entered();
  cell_.limit_seconds = limit_seconds_;
  cell_.in_cell = 1;
  const std::size_t length = name.copy(cell_.name, sizeof(cell_.name) - 1);
  cell_.name[length] = '\0';
}

void ProgressMarks::end_cell() {
  const std::lock_guard lock(mutex_);
  cell_.in_cell = 0;
}

void ProgressMarks::expect(double operation_seconds) {
  const std::lock_guard lock(mutex_);
  cell_.limit_seconds = std::max(limit_seconds_, 100 * operation_seconds);
}

RankProgress ProgressMarks::read() const {
  const std::lock_guard lock(mutex_);
  RankProgress progress = cell_;
  // In this order: an operation that begins and ends in between is then at most entered.
  progress.left = left();
  progress.entered = entered();
  return progress;
}

Watchdog::Watchdog(Communicator& host, WatchdogOptions options)
    : marks_(options.limit_seconds), exceptions_(std::uncaught_exceptions()) {
  if (host.size() == 1) return;
  WatchdogLinks links = link_to_first_rank(host);
  if (links.links.empty()) return;
  guard_ =
      std::make_unique<WatchdogGuard>(host.rank(), marks_, std::move(options), std::move(links));
}

Watchdog::~Watchdog() {
  if (guard_ == nullptr) return;
  if (std::uncaught_exceptions() > exceptions_) {
    give_up();
  } else {
    guard_->command(WatchdogGuard::Command::part);
  }
}

void Watchdog::give_up() {
  if (guard_ == nullptr) return;
  guard_->command(WatchdogGuard::Command::part_failing);
  guard_.reset();
}

void Watchdog::simulate(Fault fault) {
  if (guard_ == nullptr) return;
  using Command = WatchdogGuard::Command;
  guard_->command(fault == Fault::die      ? Command::die
                  : fault == Fault::freeze ? Command::freeze
                                           : Command::terminate);
}

}  // namespace scalebench
