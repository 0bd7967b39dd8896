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
  const bool shows_life = RankProgress{.stage = stage_}.shows_life();
  return (shows_life ? Patience::kForLife : 1) * patience_.limit_seconds;
}

double ProgressMarks::stretched(double seconds, double expected) const {
  return patience_.stretches ? std::max(seconds, kLimitOverExpected * expected) : seconds;
}

void ProgressMarks::begin(std::string_view name, Stage stage) {
  moves_before_ = moves();
  stage_ = stage;
  limit_seconds_ = least_seconds();
  for (std::size_t i = 0; i + 1 < name_.size(); ++i) name_[i] = i < name.size() ? name[i] : '\0';
  ++cells_;
}

void ProgressMarks::end_cell() {
  stage_ = Stage::between;
  limit_seconds_ = least_seconds();
}

void ProgressMarks::expect(double operation_seconds) {
  limit_seconds_ = stretched(least_seconds(), operation_seconds);
}

RankProgress ProgressMarks::read() const {
  RankProgress progress{.cells = cells_,
                        .moves = moves(),
                        .moves_before = moves_before_,
                        .limit_seconds = limit_seconds_,
                        .stage = stage_};
  std::ranges::copy(name_, progress.name.begin());
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
