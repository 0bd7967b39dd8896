// SPDX-License-Identifier: Apache-2.0
#include "bench/allreduce/groups.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstddef>

#include "bench/hosts/links.hpp"
#include "bench/measure/statistics.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

/// From each rank's group, some numbers of which may be missing.
Grouping grouping_of(const std::vector<int>& numbers) {
  Grouping grouping;
  std::vector<int> known;
  for (int rank = 0; const int number : numbers) {
    const auto found = std::ranges::find(known, number);
    const auto group = static_cast<std::size_t>(found - known.begin());
    if (found == known.end()) {
      known.push_back(number);
      grouping.members.emplace_back();
    }
    grouping.group_of_rank.push_back(static_cast<int>(group));
    grouping.members[group].push_back(rank++);
  }
  return grouping;
}

Grouping consecutive(int groups, int ranks) {
  if (groups < 1 || ranks % groups != 0 || ranks / groups < 2) {
    fail<UsageError>("--groups {}: must divide the {} ranks into equal groups of two or more",
                     groups, ranks);
  }
  std::vector<int> numbers;
  for (int rank = 0; rank < ranks; ++rank) numbers.push_back(rank / (ranks / groups));
  return grouping_of(numbers);
}

/// `member_of_rank`: the rank itself, or its host.
std::vector<Grouping> pairs_of(const std::vector<int>& member_of_rank, int members) {
  std::vector<Grouping> rounds;
  for (const Round& round : tournament(members)) {
    // By its lower member; who sits out stays by itself.
    std::vector<int> pair_of_member;
    for (int member = 0; member < members; ++member) pair_of_member.push_back(member);
    for (const auto& [low, high] : round) pair_of_member[static_cast<std::size_t>(high)] = low;
    std::vector<int> numbers;
    for (const int member : member_of_rank) {
      numbers.push_back(pair_of_member[static_cast<std::size_t>(member)]);
    }
    rounds.push_back(grouping_of(numbers));
  }
  return rounds;
}

constexpr std::array<std::string_view, 2> kPairs{"ranks", "hosts"};

}  // namespace

void add_group_options(CLI::App& app, GroupOptions& options) {
  const auto groups = [&options](int number) {
    if (number < 1) fail<UsageError>("--groups {}: must be positive", number);
    options.groups = number;
  };
  app.add_option_function<int>(
         "--groups", groups,
         "several allreduces at the same time: so many groups of neighbouring "
         "ranks, a row for each")
      ->type_name("K");
  const auto pairs = [&options](const std::string& word) {
    require_known("pairs", word, kPairs);
    options.pairs = word == "hosts" ? PairsOf::hosts : PairsOf::ranks;
  };
  offer(
      app.add_option_function<std::string>(
          "--pairs", pairs,
          "the allreduce of every pair of ranks, or of hosts with all of their ranks, those at the "
          "same time that have none in common; and which one is slower than the others"),
      kPairs);
}

std::vector<Grouping> groupings_of(const GroupOptions& options, const Topology& topology) {
  const int ranks = static_cast<int>(topology.node_of_rank.size());
  if (options.pairs == PairsOf::nothing) return {consecutive(options.groups, ranks)};
  const bool of_hosts = options.pairs == PairsOf::hosts;
  const int members = of_hosts ? topology.nodes() : ranks;
  if (members < 2) {
    fail<UsageError>("--pairs {}: there is one, and a pair is two", of_hosts ? "hosts" : "ranks");
  }
  if (of_hosts) return pairs_of(topology.node_of_rank, members);
  std::vector<int> itself;
  for (int rank = 0; rank < ranks; ++rank) itself.push_back(rank);
  return pairs_of(itself, members);
}

Timing timing_of(const Timing& all, std::span<const int> members, double target) {
  Timing timing = all;
  std::vector<double> seconds;
  for (Repetition& repetition : timing.repetitions) {
    std::vector<float> own;
    for (const int rank : members) {
      own.push_back(repetition.rank_seconds[static_cast<std::size_t>(rank)]);
    }
    const auto [first, last] = std::ranges::minmax_element(own);
    repetition.seconds = static_cast<double>(*last);
    repetition.skew_seconds = static_cast<double>(*last) - static_cast<double>(*first);
    repetition.slowest_rank = members[static_cast<std::size_t>(last - own.begin())];
    repetition.rank_seconds = std::move(own);
    seconds.push_back(repetition.seconds);
  }
  // What stopped the repetitions was the slowest of all ranks.
  timing.converged = is_narrow(summarise(seconds), target);
  return timing;
}

std::string show_ranks(std::span<const int> ranks) {
  std::vector<std::string> parts;
  for (std::size_t first = 0; first < ranks.size();) {
    std::size_t last = first;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    parts.push_back(last == first ? fmt::format("{}", ranks[first])
                                  : fmt::format("{}-{}", ranks[first], ranks[last]));
    first = last + 1;
  }
  return fmt::format("{}", fmt::join(parts, ","));
}

}  // namespace scalebench
