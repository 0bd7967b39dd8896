// SPDX-License-Identifier: Apache-2.0
#include "bench/study/prediction/step.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "bench/measure/statistics.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

/// A step with that many images over one with the profiled batch.
double relative_seconds(const StepProfile& profile, double batch,
                        std::span<const BatchSeconds> measured) {
  std::vector<double> fixed{1}, images{static_cast<double>(profile.batch)};
  for (const BatchSeconds& one : measured) {
    fixed.push_back(1 / one.relative);
    images.push_back(one.batch / one.relative);
  }
  const std::vector<double> target(fixed.size(), 1.0);
  const std::vector<double> x = nonnegative_least_squares({fixed, images}, target);
  return x[0] + x[1] * batch;
}

}  // namespace

double StepProfile::forward_seconds() const {
  double sum = 0;
  for (const LayerProfile& layer : layers) sum += layer.forward_seconds;
  return sum;
}

double StepProfile::backward_seconds() const {
  double sum = 0;
  for (const LayerProfile& layer : layers) sum += layer.backward_seconds;
  return sum;
}

double StepProfile::seconds() const {
  return load_seconds + forward_seconds() + backward_seconds() + update_seconds + host_seconds;
}

double StepProfile::gradients() const {
  double sum = 0;
  for (const LayerProfile& layer : layers) {
    for (const std::int64_t count : layer.gradients) sum += static_cast<double>(count);
  }
  return sum;
}

StepProfile stretched(StepProfile profile, double factor) {
  for (LayerProfile& layer : profile.layers) {
    layer.forward_seconds *= factor;
    layer.backward_seconds *= factor;
  }
  for (double* seconds : {&profile.load_seconds, &profile.update_seconds, &profile.host_seconds}) {
    *seconds *= factor;
  }
  for (double& seconds : profile.step_seconds) seconds *= factor;
  return profile;
}

StepProfile with_batch(const StepProfile& profile, double batch,
                       std::span<const BatchSeconds> measured) {
  const double whole = profile.seconds();
  const double fixed = profile.update_seconds + profile.host_seconds;
  double factor = batch / static_cast<double>(profile.batch);
  if (!measured.empty() && whole > fixed) {
    const double wanted = whole * relative_seconds(profile, batch, measured);
    factor = std::max(0.0, wanted - fixed) / (whole - fixed);
  }
  StepProfile of_images = stretched(profile, factor);
  of_images.update_seconds = profile.update_seconds;
  of_images.host_seconds = profile.host_seconds;
  of_images.step_seconds = profile.step_seconds;
  for (double& seconds : of_images.step_seconds) seconds *= of_images.seconds() / whole;
  of_images.batch = std::llround(batch);
  return of_images;
}

double expected_longest(std::vector<double> samples, double ranks) {
  if (samples.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::ranges::sort(samples);
  const auto n = static_cast<double>(samples.size());
  double mean = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const auto below = static_cast<double>(i);
    mean += samples[i] * (std::pow((below + 1) / n, ranks) - std::pow(below / n, ranks));
  }
  return mean;
}

namespace {

constexpr double kFirstBucketBytes = 1 << 20;
constexpr double kFloatBytes = 4;  // by which buckets are filled, whatever travels

using Formula = PredictedStep (*)(const StepInputs& inputs);

double passes(const StepProfile& profile) {
  return profile.forward_seconds() + profile.backward_seconds();
}

PredictedStep step(const StepInputs& in, double update_seconds, double exposed, double hidden = 0) {
  return {passes(in.profile) + update_seconds, exposed, hidden,
          in.profile.load_seconds + in.profile.host_seconds};
}

/// The last parameter first, as a backward pass makes them, with the time since it began.
std::vector<Bucket> parameters_of(const StepProfile& profile) {
  std::vector<Bucket> parameters;
  double now = 0;
  for (auto layer = profile.layers.rbegin(); layer != profile.layers.rend(); ++layer) {
    now += layer->backward_seconds;
    for (auto count = layer->gradients.rbegin(); count != layer->gradients.rend(); ++count) {
      parameters.push_back({static_cast<double>(*count), now});
    }
  }
  return parameters;
}

/// `end`, `sum`: of communication, which began no earlier than the backward pass.
PredictedStep overlapped(const StepInputs& in, double end, double sum) {
  const double backward = in.profile.backward_seconds();
  const double after = std::max(0.0, end - backward);
  const double hidden = sum - std::min(sum, after);
  return step(in, in.profile.update_seconds, after + (1 - in.overlap) * hidden,
              in.overlap * hidden);
}

PredictedStep fused(const StepInputs& in) {
  const double bytes = in.profile.gradients() * in.choices.gradient_bytes;
  return step(in, in.profile.update_seconds, in.allreduce_seconds(bytes));
}

PredictedStep one_by_one(const StepInputs& in) {
  double seconds = 0;
  for (const Bucket& one : parameters_of(in.profile)) {
    seconds += in.allreduce_seconds(one.elements * in.choices.gradient_bytes);
  }
  return step(in, in.profile.update_seconds, seconds);
}

PredictedStep bucketed(const StepInputs& in) {
  double end = 0, sum = 0;
  for (const Bucket& bucket : buckets_of(in.profile, in.choices.bucket_bytes)) {
    const double seconds = in.allreduce_seconds(bucket.elements * in.choices.gradient_bytes);
    end = std::max(bucket.ready_seconds, end) + seconds;
    sum += seconds;
  }
  return overlapped(in, end, sum);
}

/// Cycles begin on a grid whose phase nobody knows: half a cycle after the first gradient.
PredictedStep in_cycles(const StepInputs& in) {
  const std::vector<Bucket> all = parameters_of(in.profile);
  const double cycle = in.choices.cycle_seconds;
  const double negotiation = in.allreduce_seconds(static_cast<double>(all.size()) * kFloatBytes);
  double now = 0, sum = 0, begun = all.empty() ? 0 : all.front().ready_seconds + cycle / 2;
  for (std::size_t next = 0; next < all.size();) {
    now = begun + negotiation;
    sum += negotiation;
    double fused_bytes = 0;
    const auto send = [&] {
      const double share = in.choices.gradient_bytes / kFloatBytes;
      const double seconds = in.allreduce_seconds(fused_bytes * share);
      now += seconds;
      sum += seconds;
      fused_bytes = 0;
    };
    for (; next < all.size() && all[next].ready_seconds <= begun; ++next) {
      const double bytes = all[next].elements * kFloatBytes;
      if (fused_bytes > 0 && fused_bytes + bytes > in.choices.fusion_bytes) send();
      fused_bytes += bytes;
    }
    if (fused_bytes > 0) send();
    const double waited = cycle > 0 ? std::ceil((now - begun) / cycle) * cycle : now - begun;
    begun += std::max(waited, cycle);
    // A cycle of 0 asks again at once: until the next gradient is there, in vain.
    if (cycle == 0 && next < all.size()) begun = std::max(begun, all[next].ready_seconds);
  }
  return overlapped(in, now, sum);
}

/// Every rank updates its shard: of the update only a part is left.
PredictedStep sharded(const StepInputs& in) {
  const double bytes = in.profile.gradients() * in.choices.gradient_bytes;
  return step(in, in.profile.update_seconds / in.at.ranks, in.allreduce_seconds(bytes));
}

/// All gradients through rank 0's memory and all weights back, one rank after the other; only that
/// one updates.
PredictedStep central(const StepInputs& in) {
  const MessageCost cost = in.message();
  const double bytes = in.profile.gradients() * in.choices.gradient_bytes;
  const double others = in.at.ranks - 1;
  const double update = in.profile.update_seconds / in.at.ranks;  // mean over ranks
  return step(in, update,
              others * (2 * cost.seconds + 2 * cost.seconds_per_byte * bytes +
                        cost.seconds_per_reduced_byte * bytes + update));
}

struct Servers {
  explicit Servers(const StepInputs& in)
      : cost(in.message()),
        count(in.choices.servers),
        workers(in.at.ranks - in.choices.servers),
        bytes(in.profile.gradients() * in.choices.gradient_bytes) {
    if (workers < 1) {
      fail<Unavailable>("{} servers leave none of {} ranks to compute", count, in.at.ranks);
    }
    update = in.profile.update_seconds / count;
  }
  /// One way, through a worker's link and through a server's.
  double at_worker() const { return count * cost.seconds + bytes * cost.seconds_per_byte; }
  double at_server() const {
    return workers * (cost.seconds + bytes / count * cost.seconds_per_byte);
  }
  double adding(double pushes) const {
    return pushes * bytes / count * cost.seconds_per_reduced_byte;
  }

  MessageCost cost;
  double count, workers, bytes;
  double update = 0;  // of a server's variables
};

PredictedStep servers_in_step(const StepInputs& in) {
  const Servers servers(in);
  const double one_way = std::max(servers.at_worker(), servers.at_server());
  return step(in, 0, 2 * one_way + servers.adding(servers.workers - 1) + servers.update);
}

/// A worker's round, or that of servers which are busy all the time with everybody's pushes.
PredictedStep servers_out_of_step(const StepInputs& in) {
  const Servers servers(in);
  const double service = servers.adding(1) + servers.update;
  const double alone = 2 * servers.at_worker() + service;
  const double busy = 2 * servers.at_server() + servers.workers * service;
  PredictedStep times = step(in, 0, alone);
  times.exposed_seconds += std::max(0.0, busy - times.seconds());
  return times;
}

struct Strategy {
  std::string_view name;
  Formula formula;
};

constexpr std::array<Strategy, 10> kStrategies{{{"mirrored", fused},
                                                {"multi_worker", fused},
                                                {"naive", one_by_one},
                                                {"bucketed_overlap", bucketed},
                                                {"horovod", in_cycles},
                                                {"central_storage", central},
                                                {"ps_sync", servers_in_step},
                                                {"ps_async", servers_out_of_step},
                                                {"balanced_shards", fused},
                                                {"zero1", sharded}}};

/// What a gradient sync's own line says of it.
struct StrategyFacts {
  std::string_view name;
  bool synchronous;
  bool overlaps;
  int (*workers)(int ranks, int servers);
};

constexpr auto kFacts = std::to_array<StrategyFacts>({
#define GRADIENT_SYNC(name, equal, mean, overlaps, workers, purpose) \
  {#name, mean, overlaps,                                            \
   []([[maybe_unused]] int ranks, [[maybe_unused]] int servers) { return workers; }},
#include "models/gradients/gradient_sync.def"
#undef GRADIENT_SYNC
});

/// Of a name in some older run that is in no table any more, what holds for most; step_of() has the
/// error.
constexpr StrategyFacts kUnknown{"", true, false, [](int ranks, int) { return ranks; }};

const StrategyFacts& facts_of(std::string_view strategy) {
  const auto found = std::ranges::find(kFacts, strategy, &StrategyFacts::name);
  return found == kFacts.end() ? kUnknown : *found;
}

}  // namespace

bool overlaps(std::string_view strategy) { return facts_of(strategy).overlaps; }

bool is_synchronous(std::string_view strategy) { return facts_of(strategy).synchronous; }

int workers_of(std::string_view strategy, int ranks, const StrategyChoices& choices) {
  return std::max(1, facts_of(strategy).workers(ranks, choices.servers));
}

const std::vector<std::string_view>& predictable_strategies() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> all;
    for (const Strategy& strategy : kStrategies) all.push_back(strategy.name);
    return all;
  }();
  return names;
}

PredictedStep step_of(std::string_view strategy, const StepInputs& inputs) {
  const auto found = std::ranges::find(kStrategies, strategy, &Strategy::name);
  if (found == kStrategies.end()) {
    fail<Unavailable>("there is no formula for gradient sync {}", strategy);
  }
  return found->formula(inputs);
}

std::vector<Bucket> buckets_of(const StepProfile& profile, double bucket_bytes) {
  std::vector<Bucket> buckets;
  Bucket open;
  for (const Bucket& one : parameters_of(profile)) {
    open.elements += one.elements;
    open.ready_seconds = one.ready_seconds;
    const double limit = buckets.empty() ? std::min(kFirstBucketBytes, bucket_bytes) : bucket_bytes;
    if (open.elements * kFloatBytes < limit) continue;
    buckets.push_back(open);
    open = {};
  }
  if (open.elements > 0) buckets.push_back(open);
  return buckets;
}

}  // namespace scalebench
