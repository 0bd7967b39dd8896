// SPDX-License-Identifier: Apache-2.0
#include "collectives/allreduce.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include "collectives/steps.hpp"
#include "kernels/buffer.hpp"
#include "kernels/device.hpp"
#include "kernels/error.hpp"

namespace scalebench {

namespace allreduce {
#define ALLREDUCE(name, steps, sent, reduced, needs, purpose) \
  void name(Communicator& communicator, ConstSpan in, Span out, ReduceOp op);
#include "collectives/allreduce.def"
#undef ALLREDUCE
}  // namespace allreduce

// Parts of the costs in allreduce.def that are no plain expression of p and n.

namespace cost {
namespace {

/// Slots of one phase in which a rank sends or receives, when `segments` pass each of its links.
double busy_slots(const std::vector<TreeLink>& up, const std::vector<TreeLink>& down,
                  double segments) {
  double busy = static_cast<double>(up.size() + down.size()) * segments;
  for (const TreeLink& link : down) {
    for (const TreeLink& other : up) {
      if (link.first_slot % 2 != other.first_slot % 2) continue;
      // In the slots that both need, one exchange does both.
      const double apart =
          std::abs(static_cast<double>(link.first_slot) - static_cast<double>(other.first_slot)) /
          2;
      busy -= std::max(segments - apart, 0.0);
    }
  }
  return busy;
}

/// floor(lg p).
double lg(double p) { return std::floor(std::log2(p)); }

/// 1 when p ranks have to be folded into 2^lg(p), else 0.
double folded(double p) { return std::exp2(lg(p)) < p ? 1 : 0; }

/// (q - 1) / q for q = 2^lg(p): what is left to send when a buffer is halved lg(p) times.
double halved(double p) { return 1 - std::exp2(-lg(p)); }

/// Segments of n elements; they are as many elements in every dtype.
double segments(double n) { return std::ceil(n / static_cast<double>(kSegmentElements)); }

/// Messages as which n elements go between nodes.
double halves(double n, Reach reach) {
  return reach == Reach::device ? 1 : static_cast<double>(halves_of(static_cast<std::size_t>(n)));
}

/// Steps inside a node before and behind those between nodes: two rings; in windows the ranks only
/// meet, each with ceil(lg g) others.
double inside(double g, Reach reach) {
  return reach == Reach::windows ? 2 * std::ceil(std::log2(g)) : 2 * (g - 1);
}

/// double_binary_tree, read from its timetable, where turns coincide differently for every p. O(p).
AllreduceCost trees(double p, double n) {
  const int ranks = static_cast<int>(p);
  const TwoTrees both(ranks);
  AllreduceCost most{0, 0, 0};
  for (int rank = 0; rank < ranks; ++rank) {
    const auto up = both.up(rank), down = both.down(rank);
    const auto children = static_cast<double>(down.size());
    const auto links = static_cast<double>(up.size() + down.size());
    most.steps = std::max(most.steps, 2 * busy_slots(up, down, segments(n / 2)));
    most.sent = std::max(most.sent, links * n / 2);
    most.reduced = std::max(most.reduced, children * n / 2);
  }
  return most;
}

}  // namespace
}  // namespace cost

namespace {

/// `auto` is a keyword, so that the function of that algorithm has a longer name.
constexpr std::string_view label(std::string_view function) {
  return function == "automatic" ? "auto" : function;
}

}  // namespace

std::span<const AllreduceAlgorithm> allreduce_algorithms() {
  using cost::folded, cost::halved, cost::halves, cost::inside, cost::lg, cost::segments,
      cost::trees;
  // Not every cost depends on all of p, n, g and r.
  static constexpr std::array kTable{
#define ALLREDUCE(name, steps, sent, reduced, needs, purpose)                  \
  AllreduceAlgorithm{label(#name), &allreduce::name,                           \
                     []([[maybe_unused]] double p, [[maybe_unused]] double n,  \
                        [[maybe_unused]] double g, [[maybe_unused]] Reach r) { \
                       return AllreduceCost{steps, sent, reduced};             \
                     },                                                        \
                     purpose},
#include "collectives/allreduce.def"
#undef ALLREDUCE
  };
  return kTable;
}

Reach reach_of(std::string_view transport, bool on_device) {
  if (on_device) return Reach::device;
  return transport == "shared_memory" ? Reach::windows : Reach::messages;
}

bool AllreduceAlgorithm::chooses() const { return function == &allreduce::automatic; }

void AllreduceAlgorithm::run(Communicator& communicator, ConstSpan in, Span out,
                             ReduceOp op) const {
  require_alike("allreduce", in, out);
  const ProfilerRange range(name.data());  // a literal of the table
  run_alike(communicator, in, out, op);
}

void AllreduceAlgorithm::run_alike(Communicator& communicator, ConstSpan in, Span out,
                                   ReduceOp op) const {
  const bool knows_avg = function == &allreduce::native || chooses();
  const bool scaled = op == ReduceOp::avg && !knows_avg;
  function(communicator, in, out, scaled ? ReduceOp::sum : op);
  if (scaled) communicator.scale(out, 1.0 / communicator.size());
}

const AllreduceAlgorithm& allreduce_named(std::string_view name) {
  return row_named(allreduce_algorithms(), &AllreduceAlgorithm::name, "algorithm", name);
}

namespace {

constexpr double kTie = 1.03;

using Algorithm = const AllreduceAlgorithm*;

double median_of(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 != 0 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

/// By size: the seconds of each algorithm.
using SecondsBySize = std::map<std::size_t, std::map<Algorithm, std::vector<double>>>;

SecondsBySize by_size(std::span<const MeasuredAllreduce> measured) {
  SecondsBySize seconds;
  for (const MeasuredAllreduce& cell : measured) {
    const Algorithm algorithm = &allreduce_named(cell.algorithm);
    if (!(std::isfinite(cell.seconds) && cell.seconds > 0)) {
      fail<UsageError>("algorithm {} at {} bytes: {} is no measured time", cell.algorithm,
                       cell.bytes, cell.seconds);
    }
    if (!algorithm->chooses()) seconds[cell.bytes][algorithm].push_back(cell.seconds);
  }
  return seconds;
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
  std::size_t before = 0;  // the size that was looked at last
  for (const auto& [bytes, samples] : by_size(measured)) {
    std::map<Algorithm, double> medians;
    for (const auto& [algorithm, seconds] : samples) medians[algorithm] = median_of(seconds);
    const auto [fastest, best] =
        *std::ranges::min_element(medians, {}, [](const auto& entry) { return entry.second; });
    const auto kept = medians.find(choices_.empty() ? nullptr : choices_.back().algorithm);
    if (kept == medians.end() || kept->second > best * kTie) {
      if (!choices_.empty()) choices_.back().largest = between(before, bytes);
      choices_.push_back({std::numeric_limits<std::size_t>::max(), fastest});
    }
    before = bytes;
  }
  if (choices_.empty()) fail<Unavailable>("no measured time to choose an algorithm by");
}

const AllreduceAlgorithm& AllreduceChoices::pick(std::size_t bytes) const {
  // One by one: they are few, and the smallest sizes have the least time.
  return *std::ranges::find_if(choices_, [&](const Choice& choice) {
            return bytes <= choice.largest;
          })->algorithm;
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
