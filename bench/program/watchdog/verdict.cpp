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

/// Ranks can be compared by it. Not by their calls, of which some make more than others.
auto place_of(const RankProgress& progress) {
  const bool ended = progress.stage == Stage::between;
  return std::tuple(progress.cells, progress.entered, progress.left, ended);
}

/// ` in "allreduce ring float 1 MiB" (operation 17 of the cell)`
std::string where(const RankProgress& progress) {
  if (progress.cells == 0) return " before its first cell";
  if (progress.stage == Stage::between) return fmt::format(" after \"{}\"", progress.name);
  if (progress.stage != Stage::cell) return fmt::format(" in \"{}\"", progress.name);
  const std::uint64_t operation = progress.entered - progress.entered_before;
  std::string operations = "before its first operation";
  if (operation > 0) {
    operations = fmt::format("{}operation {} of the cell",
                             progress.entered > progress.left ? "" : "after ", operation);
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
