// SPDX-License-Identifier: Apache-2.0
#include "bench/program/watchdog/verdict.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <set>
#include <tuple>

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
  cell_.moves_before = moves();
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
  progress.moves = moves();
  if (calls_ == nullptr) return progress;
  const CallMarks::Count calls = calls_->read();
  progress.calls = calls.moves;
  // One that works waits for others now, and its limit is that of a span.
  if (progress.shows_life() && calls.inside()) {
    progress.waits = 1;
    progress.limit_seconds = limit_seconds_;
    const double expected = static_cast<double>(calls.bytes) / kSlowBytesPerSecond;
    if (stretches_)
      progress.limit_seconds = std::max(limit_seconds_, kLimitOverExpected * expected);
  }
  return progress;
}

namespace {

/// Ranks can be compared by it. Not by their calls, of which some make more than others.
auto place_of(const RankProgress& progress) {
  const bool ended = progress.stage == Stage::between;
  return std::tuple(progress.cells, progress.moves, ended);
}

/// ` in "allreduce ring float 1 MiB" (operation 17 of the cell)`
std::string where(const RankProgress& progress) {
  if (progress.cells == 0) return " before its first cell";
  if (progress.stage == Stage::between) return fmt::format(" after \"{}\"", progress.name);
  if (progress.stage != Stage::cell) return fmt::format(" in \"{}\"", progress.name);
  const std::uint64_t operation = (progress.moves + 1) / 2 - (progress.moves_before + 1) / 2;
  std::string operations = "before its first operation";
  if (operation > 0) {
    operations = fmt::format("{}operation {} of the cell", progress.moves % 2 == 1 ? "" : "after ",
                             operation);
  }
  return fmt::format(" in \"{}\" ({})", progress.name, operations);
}

std::string names_of(std::span<const WatchedRank> ranks) {
  std::vector<std::string> names;
  for (const WatchedRank& one : ranks) {
    names.push_back(fmt::format("rank {} on {}", one.rank, one.host));
  }
  return fmt::to_string(fmt::join(names, ", "));
}

std::string hang_of(std::span<const WatchedRank> ranks) {
  return fmt::format("{} {}", names_of(ranks), ranks.size() == 1 ? "hangs" : "hang");
}

std::vector<WatchedRank> silent_of(std::span<const WatchedRank> ranks) {
  std::vector<WatchedRank> silent;
  std::ranges::copy_if(ranks, std::back_inserter(silent), &WatchedRank::silent);
  return silent;
}

/// " (all of host3: stopped, down or cut off)"; "" where hosts are not silent as a whole.
std::string likely_cause(std::span<const WatchedRank> ranks) {
  std::set<std::string> speaking, silent;
  for (const WatchedRank& one : ranks) (one.silent ? silent : speaking).insert(one.host);
  const bool whole = std::ranges::none_of(
      silent, [&](const std::string& host) { return speaking.contains(host); });
  if (!whole || silent.empty() || speaking.empty()) return "";
  if (speaking.size() == 1 && silent.size() > 1) {
    return fmt::format(" (all hosts but {}: it may be the one that is cut off)", *speaking.begin());
  }
  return fmt::format(" (all of {}: stopped, down or cut off)", fmt::join(silent, ", "));
}

}  // namespace

bool RankProgress::same_place(const RankProgress& other) const {
  return place_of(*this) == place_of(other) && calls == other.calls;
}

bool RankProgress::stands_still_since(const RankProgress& before) const {
  return same_place(before) && (!shows_life() || signs == before.signs);
}

std::string describe_death(const WatchedRank& dead) {
  return fmt::format("rank {} on {} died{}; ending all ranks", dead.rank, dead.host,
                     where(dead.progress));
}

std::string describe_silence(std::span<const WatchedRank> ranks, double seconds) {
  const std::vector<WatchedRank> silent = silent_of(ranks);
  return fmt::format("{}: no sign of life for {:.3g} s{}{}", names_of(silent), seconds,
                     where(silent.front().progress), likely_cause(ranks));
}

std::string describe_idleness(const WatchedRank& idle) {
  return fmt::format("rank {} on {} has not computed, read or written anything for {:.3g} s{}",
                     idle.rank, idle.host, idle.still_seconds, where(idle.progress));
}

std::string describe_hang(std::span<const WatchedRank> ranks, double seconds) {
  std::vector<WatchedRank> blamed = silent_of(ranks);
  if (!blamed.empty()) {
    return fmt::format("{}: no sign of life for {:.3g} s{}{}; ending all ranks", hang_of(blamed),
                       seconds, where(blamed.front().progress), likely_cause(ranks));
  }
  const auto by_place = [](const WatchedRank& one) { return place_of(one.progress); };
  const WatchedRank behind = std::ranges::min(ranks, {}, by_place);
  std::ranges::copy_if(ranks, std::back_inserter(blamed),
                       [&](const WatchedRank& one) { return by_place(one) == by_place(behind); });
  if (blamed.size() == ranks.size()) {
    const auto is_dead = [&](const WatchedRank& one) { return one.dead_seconds > seconds / 2; };
    std::erase_if(blamed, std::not_fn(is_dead));
    if (!blamed.empty() && blamed.size() < ranks.size()) {
      return fmt::format(
          "{}: no progress for {:.3g} s{}, and no work, where the others wait busily; ending all "
          "ranks",
          hang_of(blamed), seconds, where(behind.progress));
    }
    return fmt::format(
        "all ranks hang: no progress for {:.3g} s{}, where all of them are; "
        "ending all ranks",
        seconds, where(behind.progress));
  }
  return fmt::format("{}: no progress for {:.3g} s{}, and the others wait; ending all ranks",
                     hang_of(blamed), seconds, where(behind.progress));
}

}  // namespace scalebench
