// SPDX-License-Identifier: Apache-2.0
// The shuffle and its partition.
#include "models/data/sampler.hpp"

#include <cstddef>
#include <limits>
#include <numeric>
#include <random>
#include <utility>

#include "kernels/error.hpp"

namespace scalebench {
namespace {

/// Uniform in [0, bound). std::uniform_int_distribution differs between standard libraries.
std::uint64_t below(std::uint64_t bound, std::mt19937_64& random) {
  const std::uint64_t whole = std::numeric_limits<std::uint64_t>::max() / bound * bound;
  std::uint64_t drawn = random();
  while (drawn >= whole) drawn = random();
  return drawn % bound;
}

}  // namespace

std::int64_t batch_per_rank(std::int64_t global_batch, int ranks) {
  if (global_batch < 1) fail<UsageError>("global batch {}: expected at least 1", global_batch);
  if (global_batch % ranks == 0) return global_batch / ranks;
  const std::int64_t lower = global_batch / ranks * ranks;
  const std::string nearest =
      lower == 0 ? fmt::format("{}", ranks) : fmt::format("{} or {}", lower, lower + ranks);
  fail<UsageError>("global batch {} does not divide over {} ranks; nearest that does: {}",
                   global_batch, ranks, nearest);
}

std::vector<std::int64_t> shuffled(std::int64_t count, std::uint64_t seed, int epoch) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::mt19937_64 random(
      SplitMix(SplitMix(seed).next() + static_cast<std::uint64_t>(epoch)).next());
  for (std::size_t left = order.size(); left > 1; --left) {
    std::swap(order[left - 1], order[below(left, random)]);
  }
  return order;
}

Sampler::Sampler(const Options& options) : options_(options), steps_(0) {
  const std::int64_t all = options.batch * options.ranks;
  if (options.batch < 1) {
    fail<UsageError>("batch per rank {}: expected at least 1", options.batch);
  }
  if (options.limit < 0 || options.limit > options.images) {
    fail<UsageError>(
        "{} samples an epoch: expected 1 to {}, the size of the data set, or 0 for all",
        options.limit, options.images);
  }
  if (options.steps > 0 && options.images > 0) {
    if (options.limit > 0) fail("both a limit and a number of steps");
    steps_ = options.steps;
    return;
  }
  const std::int64_t samples = options.limit > 0 ? options.limit : options.images;
  if (samples < all) {
    fail<TooFewImages>(
        "an epoch of {} samples is smaller than one step of {} ranks x batch {} = {}", samples,
        options.ranks, options.batch, all);
  }
  steps_ = samples / all;
}

std::vector<std::int64_t> Sampler::epoch(int epoch) const {
  if (options_.steps > 0) return round_and_round(epoch);
  const std::vector<std::int64_t> order = shuffled(options_.images, options_.seed, epoch);
  std::vector<std::int64_t> mine;
  mine.reserve(static_cast<std::size_t>(samples_per_epoch()));
  for (std::int64_t step = 0; step < steps_; ++step) {
    const auto first = order.begin() + (step * options_.ranks + options_.rank) * options_.batch;
    mine.insert(mine.end(), first, first + options_.batch);
  }
  return mine;
}

std::vector<std::int64_t> Sampler::round_and_round(int epoch) const {
  std::vector<std::int64_t> mine;
  mine.reserve(static_cast<std::size_t>(samples_per_epoch()));
  std::vector<std::int64_t> order;
  std::int64_t pass = -1;
  for (std::int64_t step = 0; step < steps_; ++step) {
    const std::int64_t first = (step * options_.ranks + options_.rank) * options_.batch;
    for (std::int64_t position = first; position < first + options_.batch; ++position) {
      if (position / options_.images != pass) {
        pass = position / options_.images;
        // The first pass is the one of an epoch without going round.
        const auto more = static_cast<std::uint64_t>(pass);
        const std::uint64_t seed =
            pass == 0 ? options_.seed : SplitMix(options_.seed ^ more).next();
        order = shuffled(options_.images, seed, epoch);
      }
      mine.push_back(order[static_cast<std::size_t>(position % options_.images)]);
    }
  }
  return mine;
}

}  // namespace scalebench
