// SPDX-License-Identifier: Apache-2.0
#include "collectives/allreduce_choices.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "kernels/error.hpp"

namespace scalebench {
namespace {

constexpr double kTie = 1.03;

using Algorithm = const AllreduceAlgorithm*;

/// Who may be chosen at one size: the fastest, and those that tie with it.
struct Candidates {
  std::size_t bytes;
  Algorithm fastest;
  std::set<Algorithm> tied;
};

double median_of(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 != 0 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

std::vector<Candidates> candidates_of(std::span<const MeasuredAllreduce> measured) {
  std::map<std::size_t, std::map<Algorithm, std::vector<double>>> seconds;
  for (const MeasuredAllreduce& cell : measured) {
    const Algorithm algorithm = &allreduce_named(cell.algorithm);
    if (!(std::isfinite(cell.seconds) && cell.seconds > 0)) {
      fail<UsageError>("algorithm {} at {} bytes: {} is no measured time", cell.algorithm,
                       cell.bytes, cell.seconds);
    }
    if (algorithm->function != &allreduce::automatic) {
      seconds[cell.bytes][algorithm].push_back(cell.seconds);
    }
  }
  std::vector<Candidates> all;
  for (const auto& [bytes, samples] : seconds) {
    std::vector<std::pair<double, Algorithm>> medians;
    for (const auto& [algorithm, times] : samples)
      medians.emplace_back(median_of(times), algorithm);
    const auto [best, fastest] = std::ranges::min(medians);
    Candidates candidates{bytes, fastest, {}};
    for (const auto& [time, algorithm] : medians) {
      if (time <= best * kTie) candidates.tied.insert(algorithm);
    }
    all.push_back(std::move(candidates));
  }
  return all;
}

/// The candidate for sizes from `first` on that stays one longest; the fastest if several do.
Algorithm most_lasting(std::span<const Candidates> sizes, std::size_t first) {
  std::set<Algorithm> left = sizes[first].tied;
  for (std::size_t i = first + 1; i < sizes.size(); ++i) {
    std::set<Algorithm> still;
    std::ranges::set_intersection(left, sizes[i].tied, std::inserter(still, still.end()));
    if (still.empty()) break;
    left = std::move(still);
  }
  return left.contains(sizes[first].fastest) ? sizes[first].fastest : *left.begin();
}

/// The last size that is nearer to `smaller` than to `larger` in log scale.
std::size_t between(std::size_t smaller, std::size_t larger) {
  return static_cast<std::size_t>(
      std::sqrt(static_cast<double>(smaller) * static_cast<double>(larger)));
}

std::string size_text(std::size_t bytes) {
  constexpr std::array kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  return fmt::format("{:.{}f} {}", value, value < 10 && unit > 0 ? 1 : 0, kUnits[unit]);
}

}  // namespace

AllreduceChoices::AllreduceChoices(std::span<const MeasuredAllreduce> measured) {
  const std::vector<Candidates> sizes = candidates_of(measured);
  if (sizes.empty()) fail<Unavailable>("no measured time to choose an algorithm by");
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (choices_.empty() || !sizes[i].tied.contains(choices_.back().algorithm)) {
      if (!choices_.empty()) choices_.back().largest = between(sizes[i - 1].bytes, sizes[i].bytes);
      choices_.push_back({std::numeric_limits<std::size_t>::max(), most_lasting(sizes, i)});
    }
  }
}

const AllreduceAlgorithm& AllreduceChoices::pick(std::size_t bytes) const {
  return *std::ranges::lower_bound(choices_, bytes, {}, &Choice::largest)->algorithm;
}

std::vector<std::string> AllreduceChoices::describe() const {
  std::vector<std::string> lines;
  for (const Choice& choice : choices_) {
    const bool last = &choice == &choices_.back();
    const std::string sizes =
        last ? lines.empty() ? "all sizes" : "above" : "up to " + size_text(choice.largest);
    lines.push_back(fmt::format("{}: {}", sizes, choice.algorithm->name));
  }
  return lines;
}

}  // namespace scalebench
