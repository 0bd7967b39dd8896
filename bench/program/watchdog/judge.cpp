// SPDX-License-Identifier: Apache-2.0
#include "bench/program/watchdog/judge.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <set>
#include <tuple>
#include <utility>

namespace scalebench {
namespace {

constexpr double kSilentShare = 0.5;  // of the limit: four messages and more are missing
constexpr double kHushSeconds = 2.5;  // before a launcher gives up on a host that is cut off
// Ranks of one host fall silent together, and are heard of at looks that are so far apart.
constexpr double kTogether = 1;
// A rank that fails waits so long before it ends all: deaths that are told later are the launcher's
// doing.
constexpr double kFailingSeconds = 0.9;

/// Ranks can be compared by it. Not by their calls, of which some make more than others.
auto place_of(const RankProgress& progress) {
  const bool ended = progress.stage == Stage::between;
  return std::tuple(progress.cells, progress.moves, ended);
}

/// ` in "allreduce ring float 1 MiB" (operation 17 of the cell)`
std::string where(const RankProgress& progress) {
  if (progress.cells == 0) return " before its first cell";
  if (progress.stage == Stage::between) return fmt::format(" after \"{}\"", progress.name.data());
  if (progress.stage != Stage::cell) return fmt::format(" in \"{}\"", progress.name.data());
  const std::uint64_t operation = (progress.moves + 1) / 2 - (progress.moves_before + 1) / 2;
  std::string operations = "before its first operation";
  if (operation > 0) {
    operations = fmt::format("{}operation {} of the cell", progress.moves % 2 == 1 ? "" : "after ",
                             operation);
  }
  return fmt::format(" in \"{}\" ({})", progress.name.data(), operations);
}

std::string names_of(std::span<const WatchedRank> ranks) {
  std::vector<std::string> names;
  for (const WatchedRank& one : ranks) {
    names.push_back(fmt::format("rank {} on {}", one.rank, one.host));
  }
  return fmt::to_string(fmt::join(names, ", "));
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

std::string describe_death(const Told& dead) {
  return fmt::format("rank {} on {} died{}; ending all ranks", dead.rank, dead.host.data(),
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
  if (!blamed.empty()) return describe_silence(ranks, seconds) + "; ending all ranks";
  const auto by_place = [](const WatchedRank& one) { return place_of(one.progress); };
  const WatchedRank behind = std::ranges::min(ranks, {}, by_place);
  std::ranges::copy_if(ranks, std::back_inserter(blamed),
                       [&](const WatchedRank& one) { return by_place(one) == by_place(behind); });
  const char* others = ", and the others wait";
  if (blamed.size() == ranks.size()) {
    const auto is_dead = [&](const WatchedRank& one) { return one.dead_seconds > seconds / 2; };
    std::erase_if(blamed, std::not_fn(is_dead));
    if (blamed.empty() || blamed.size() == ranks.size()) {
      return fmt::format(
          "all ranks hang: no progress for {:.3g} s{}, where all of them are; ending all ranks",
          seconds, where(behind.progress));
    }
    others = ", and no work, where the others wait busily";
  }
  return fmt::format("{} {}: no progress for {:.3g} s{}{}; ending all ranks", names_of(blamed),
                     blamed.size() == 1 ? "hangs" : "hang", seconds, where(behind.progress),
                     others);
}

Judge::Judge(int ranks, double limit_seconds)
    : limit_seconds_(limit_seconds), ranks_(static_cast<std::size_t>(ranks)) {}

void Judge::hear(const Told& told, double now) {
  Rank& rank = ranks_.at(static_cast<std::size_t>(told.rank));
  const bool is_first = rank.heard == 0;
  if (is_first) rank.hear_all_at(now);
  if (!is_first && told.beat == rank.told.beat) return;
  const RankProgress before = std::exchange(rank.told, told).progress;
  rank.heard = now;
  if (!told.progress.same_place(before)) rank.begun = now;
  if (!told.progress.stands_still_since(before)) moved_ = rank.moved = now;
  if (told.progress.signs != before.signs) rank.alive = now;
}

void Judge::dismiss(int rank, bool failing, double now) {
  ranks_.at(static_cast<std::size_t>(rank)).gone = true;
  if (failing && failing_since_ == 0) failing_since_ = now;
}

bool Judge::may_name_death(int rank, double now) {
  ranks_.at(static_cast<std::size_t>(rank)).gone = true;
  const bool by_launcher = failing_since_ > 0 && now > failing_since_ + kFailingSeconds;
  if (named_ < 0 && !by_launcher) named_ = rank;
  return named_ == rank;
}

std::vector<WatchedRank> Judge::watched(double now, double silent_seconds) const {
  std::vector<WatchedRank> watched;
  for (const Rank& one : ranks_) {
    if (one.gone) continue;
    watched.push_back({one.told.rank, one.told.host.data(), now - one.heard > silent_seconds,
                       now - one.moved, now - one.alive, one.told.progress, now - one.begun});
  }
  return watched;
}

std::string Judge::note_of_silence(double now) {
  bool news = false;
  for (Rank& one : ranks_) {
    const double seconds = one.gone ? 0 : now - one.heard;
    one.hushed = one.hushed && seconds > kHushSeconds - kTogether;
    news = news || (seconds > kHushSeconds && !one.hushed);
  }
  if (!news) return "";
  const std::vector<WatchedRank> all = watched(now, kHushSeconds - kTogether);
  for (const WatchedRank& one : all) {
    if (one.silent) ranks_[static_cast<std::size_t>(one.rank)].hushed = true;
  }
  return describe_silence(all, kHushSeconds);
}

void Judge::begin_anew(double now) {
  for (Rank& one : ranks_) one.hear_all_at(now);
  moved_ = now;
}

Judge::Finding Judge::look(double now) {
  Finding finding;
  // A job as a whole that its user or its scheduler has stopped is to go on some day.
  const std::vector<WatchedRank> heard = watched(now, kSilentShare * limit_seconds_);
  const bool all_stopped =
      heard.size() == ranks_.size() && std::ranges::all_of(heard, &WatchedRank::silent);
  const bool went_on = std::exchange(all_stopped_, all_stopped) && !all_stopped;
  // Nor does a watchdog that was stopped itself know anything of the meantime.
  const bool slept = now - std::exchange(last_look_, now) > limit_seconds_ / 2;
  if (went_on || slept) begin_anew(now);
  const std::vector<WatchedRank> ranks = watched(now, kSilentShare * limit_seconds_);
  if (all_stopped || ranks.empty()) return finding;
  finding.note = note_of_silence(now);
  const auto lost = [&](const Rank& one) { return !one.gone && now - one.heard > limit_seconds_; };
  double limit = 0;
  for (const WatchedRank& one : ranks) limit = std::max(limit, one.progress.limit_seconds);
  // A library that spins shows life for ever.
  const auto busy = std::ranges::find_if(ranks, [](const WatchedRank& one) {
    const double most = one.progress.limit_seconds * Patience::kCeiling / Patience::kForLife;
    return one.progress.shows_life() && one.there_seconds > most;
  });
  const auto idle = std::ranges::find_if(ranks, &WatchedRank::idle);
  if (std::ranges::any_of(ranks_, lost)) {
    finding.verdict = describe_hang(ranks, limit_seconds_);
  } else if (idle != ranks.end()) {
    // The others may spin while they wait for a rank that works on its own.
    finding.verdict = describe_idleness(*idle) + "; ending all ranks";
  } else if (now - moved_ > limit) {
    finding.verdict = describe_hang(ranks, limit);
  } else if (busy != ranks.end()) {
    finding.verdict = describe_hang(ranks, busy->there_seconds);
  }
  return finding;
}

}  // namespace scalebench
