// SPDX-License-Identifier: Apache-2.0
// Which images each rank sees in each step. Every rank shuffles alike; step s takes the global
// positions [s*B, (s+1)*B) of the shuffled order and rank r of them the slice [r*b, (r+1)*b), with
// B = N*b. So N = 2 with batch b sees step by step the same images as N = 1 with batch 2b.
// The last, partial batch is dropped: the samples really processed are steps * B. An epoch with a
// given number of steps goes round the images instead.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "kernels/error.hpp"

namespace scalebench {

/// The data set holds less than one step.
class TooFewImages : public UsageError {
 public:
  using UsageError::UsageError;
};

/// Images per rank when `global_batch` images are split over `ranks` (strong scaling). Throws
/// UsageError with the nearest valid global batches when it does not divide.
std::int64_t batch_per_rank(std::int64_t global_batch, int ranks);

/// 0 .. count-1 in an order that depends on (seed, epoch) alone, on every platform: Fisher-Yates
/// from the last element down, the partner drawn from std::mt19937_64 by rejection, the generator
/// seeded with SplitMix64 of both.
std::vector<std::int64_t> shuffled(std::int64_t count, std::uint64_t seed, int epoch);

class Sampler {
 public:
  struct Options {
    /// Images in the data set.
    std::int64_t images = 0;
    /// Images that all ranks together may take an epoch, other ones each time; 0: all.
    std::int64_t limit = 0;
    /// Images per rank and step, b.
    std::int64_t batch = 0;
    int ranks = 1;
    int rank = 0;
    std::uint64_t seed = 0;
    /// Steps of an epoch whatever the number of images, going round them again, each time in
    /// another order; 0: as many as there are whole batches. Excludes a limit.
    std::int64_t steps = 0;
  };

  /// Throws UsageError when b < 1 or the limit is negative or above the data set, TooFewImages when
  /// an epoch would have no step, Error for a limit together with steps.
  explicit Sampler(const Options& options);

  std::int64_t steps_per_epoch() const { return steps_; }
  /// Images that this rank processes in an epoch: steps_per_epoch() * b.
  std::int64_t samples_per_epoch() const { return steps_ * options_.batch; }

  /// This rank's indices into the data set in the order of its steps, b for each.
  std::vector<std::int64_t> epoch(int epoch) const;

 private:
  std::vector<std::int64_t> round_and_round(int epoch) const;

  Options options_;
  std::int64_t steps_;
};

/// FNV-1a, further from `hash` on.
constexpr std::uint64_t fnv1a(std::string_view bytes, std::uint64_t hash = 0xcbf29ce484222325U) {
  for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3U;
  return hash;
}

// SplitMix64: a 64-bit generator of three multiplications, also a good mixer of seeds.
// Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.

class SplitMix {
 public:
  explicit constexpr SplitMix(std::uint64_t seed) : state_(seed) {}

  constexpr std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30U)) * 0xbf58476d1ce4e5b9U;
    mixed = (mixed ^ (mixed >> 27U)) * 0x94d049bb133111ebU;
    return mixed ^ (mixed >> 31U);
  }

 private:
  std::uint64_t state_;
};

}  // namespace scalebench
