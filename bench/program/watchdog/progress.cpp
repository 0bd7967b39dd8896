// SPDX-License-Identifier: Apache-2.0
#include "bench/program/watchdog/progress.hpp"

#include <algorithm>
#include <tuple>

namespace scalebench {
namespace {

constexpr double kSlowBytesPerSecond = 1e9;  // of a message; a hundred times as long is waited

}  // namespace

bool RankProgress::same_place(const RankProgress& other) const {
  const auto place = [](const RankProgress& one) {
    return std::tuple(one.cells, one.moves, one.stage == Stage::between, one.calls);
  };
  return place(*this) == place(other);
}

bool RankProgress::stands_still_since(const RankProgress& before) const {
  return same_place(before) && (!shows_life() || signs == before.signs);
}

void ProgressMarks::set_patience(Patience patience) {
  patience_ = patience;
  end_cell();
}

double ProgressMarks::least_seconds() const {
  return (cell_.shows_life() ? Patience::kForLife : 1) * patience_.limit_seconds;
}

double ProgressMarks::stretched(double seconds, double expected) const {
  return patience_.stretches ? std::max(seconds, kLimitOverExpected * expected) : seconds;
}

void ProgressMarks::begin(std::string_view name, Stage stage) {
  ++cell_.cells;
  cell_.moves_before = moves();
  cell_.stage = stage;
  cell_.limit_seconds = least_seconds();
  cell_.name = {};
  name.copy(cell_.name.data(), cell_.name.size() - 1);
  published_.write(cell_);
}

void ProgressMarks::end_cell() {
  cell_.stage = Stage::between;
  cell_.limit_seconds = least_seconds();
  published_.write(cell_);
}

void ProgressMarks::expect(double operation_seconds) {
  cell_.limit_seconds = stretched(least_seconds(), operation_seconds);
  published_.write(cell_);
}

RankProgress ProgressMarks::read() const {
  RankProgress progress = published_.read();
  progress.moves = moves();
  const CallMarks::Count calls = calls_.read();
  progress.calls = calls.moves;
  // One that works waits for others now, and its limit is that of a span.
  if (progress.shows_life() && calls.inside()) {
    progress.waits = 1;
    const double expected = static_cast<double>(calls.bytes) / kSlowBytesPerSecond;
    progress.limit_seconds = stretched(patience_.limit_seconds, expected);
  }
  return progress;
}

}  // namespace scalebench
