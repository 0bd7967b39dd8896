// SPDX-License-Identifier: Apache-2.0
// One step of N ranks from one step of a single rank and the time of an allreduce: what each
// gradient synchronisation sends when, and what of it the backward pass hides. Sources: the
// recurrence of MG-WFBP (Shi, Chu, Li, INFOCOM 2019), and Zhang et al. 2020 (arXiv 2006.10103).
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "bench/study/prediction_curve.hpp"
#include "bench/study/prediction_profile.hpp"

namespace scalebench {

/// What a strategy may be told; the defaults are those of bench_epoch.
struct StrategyChoices {
  double bucket_bytes = 25.0 * (1 << 20);
  double fusion_bytes = 128.0 * (1 << 20);
  double cycle_seconds = 1e-3;
  int servers = 1;
  double gradient_bytes = 4;  // as one travels
};

/// What a message between two ranks costs, and a byte that is reduced.
struct MessageCost {
  double seconds = 0;
  double seconds_per_byte = 0;
  double seconds_per_reduced_byte = 0;
};

struct StepInputs {
  StepProfile profile;  // of a rank with its batch
  RankLayout at;
  std::function<double(double bytes)> allreduce_seconds;
  std::function<MessageCost()> message;  // for strategies with servers
  StrategyChoices choices{};
  /// Of communication beside the backward pass, the share that does not hold that up: 0 where the
  /// core that computes carries it.
  double overlap = 1;
};

struct StepTimes {
  double compute_seconds = 0;  // forward, backward, update
  double exposed_seconds = 0;  // communication that nothing hides
  double hidden_seconds = 0;   // under the backward pass
  double other_seconds = 0;    // loading, host

  double seconds() const { return compute_seconds + exposed_seconds + other_seconds; }
};

/// Whether the strategy communicates beside the backward pass; whether ranks wait for each other.
bool overlaps(std::string_view strategy);
bool is_synchronous(std::string_view strategy);
/// Ranks that compute: fewer with servers.
int workers_of(std::string_view strategy, int ranks, const StrategyChoices& choices);

/// Strategies that there is a formula for.
const std::vector<std::string_view>& predictable_strategies();

/// Throws Unavailable, with the reason, for what cannot be predicted.
StepTimes step_of(std::string_view strategy, const StepInputs& inputs);

/// Elements of each bucket and when the last of its gradients is there, from the beginning of the
/// backward pass: a bucket ends with the parameter that makes it `bucket_bytes` long, the first one
/// at 1 MiB, from the last parameter to the first.
struct Bucket {
  double elements = 0;
  double ready_seconds = 0;
};
std::vector<Bucket> buckets_of(const StepProfile& profile, double bucket_bytes);

}  // namespace scalebench
