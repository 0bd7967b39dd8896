// SPDX-License-Identifier: Apache-2.0
#include "bench/training/throughput/measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <memory>

#include "bench/measure/clock_sync.hpp"
#include "bench/measure/statistics.hpp"
#include "bench/program/own_turn.hpp"
#include "collectives/control.hpp"
#include "kernels/device.hpp"
#include "kernels/error.hpp"
#include "models/data/sampler.hpp"
#include "models/torch/device.hpp"
#include "models/trainer.hpp"

namespace scalebench {
namespace {

/// Enough that the device never waits for the host, few enough that a round ends on time.
constexpr std::size_t kStepsAhead = 16;

/// How long each of many steps in a row takes, without stopping a device between them: on a CPU by
/// the clock, on a GPU by an event behind each step. The host runs a few steps ahead of the device,
/// as in training.
class StepTimer {
 public:
  explicit StepTimer(ComputeDevice device) : on_device_(device == ComputeDevice::cuda) {}

  /// Before the first step of a round, on the thread that makes the steps.
  void begin() {
    stamps_.clear();
    marks_ = 0;
    mark();
  }

  /// Behind each step, which need not have ended on the device.
  void step_enqueued() {
    mark();
    if (marks_ > kStepsAhead) events_[marks_ - 1 - kStepsAhead].synchronize();
  }

  /// Waits for the last step and appends the seconds of each since begin().
  void end(std::vector<double>& seconds) {
    if (on_device_) events_[marks_ - 1].synchronize();
    for (std::size_t i = 1; i < stamps_.size(); ++i) seconds.push_back(stamps_[i] - stamps_[i - 1]);
    for (std::size_t i = 1; i < marks_; ++i) {
      seconds.push_back(events_[i].seconds_since(events_[i - 1]));
    }
  }

 private:
  void mark() {
    if (!on_device_) return stamps_.push_back(local_seconds());
    if (marks_ == events_.size()) events_.emplace_back();
    events_[marks_++].record(torch_stream());
  }

  bool on_device_;
  std::vector<double> stamps_;      // CPU
  std::deque<DeviceEvent> events_;  // GPU; kept for the next round
  std::size_t marks_ = 0;           // events of this round
};

constexpr double kRoundSeconds = 0.5;

/// Steps until the round's time is over on this rank, at least one. Returns why memory was not
/// enough, or nothing. `span`: when they were made.
std::string run_round(const Ranks& ranks, Trainer& trainer, StepTimer& timer,
                      std::vector<double>& seconds, TimeSpan& span) {
  ranks.progress.enter();  // the ranks make unequal numbers of steps, and equally many rounds
  ranks.host.barrier();
  span.begin = local_seconds();
  const std::string lack = lack_of_memory(ranks, [&] {
    timer.begin();
    do {
      trainer.train_step();
      timer.step_enqueued();
    } while (local_seconds() < span.begin + kRoundSeconds);
    timer.end(seconds);
    span.end = local_seconds();
  });
  ranks.progress.leave();
  return lack;
}

/// Collective: by rank.
std::vector<CardSummary> all_cards(Communicator& host, const CardSummary& mine) {
  const std::array numbers{mine.clock_mhz, mine.throttled_share, mine.power_capped_share,
                           mine.watts};
  const std::vector<double> all = all_gather(host, numbers);
  std::vector<CardSummary> cards;
  for (std::size_t i = 0; i < all.size(); i += numbers.size()) {
    cards.push_back({all[i], all[i + 1], all[i + 2], all[i + 3]});
  }
  return cards;
}

}  // namespace

ThroughputResult measure_throughput(const Ranks& ranks, const ThroughputOptions& options) {
  NoTrace trace;
  std::unique_ptr<Trainer> held;
  ThroughputResult result;
  result.trainer = resolved(options.training.trainer, ranks.session.size());
  // Whether `work` cannot be done on some rank, and why.
  const auto fails = [&](const auto& work) {
    std::string mine;
    bool recorded = true, enough_images = true;
    try {
      mine = work();
    } catch (const NotRecorded& error) {
      mine = error.what();
      recorded = false;
    } catch (const TooFewImages& error) {
      mine = error.what();
      enough_images = false;
    }
    result.failure = joint_failure(ranks.host, mine);
    result.too_few_images = !all_agree(ranks.host, enough_images);
    result.out_of_memory =
        all_agree(ranks.host, recorded && enough_images) && !result.failure.empty();
    return !result.failure.empty();
  };
  const std::string title =
      fmt::format("{}, batch {}", result.trainer.choice.label, result.trainer.batch);
  double first_seconds = 0;
  const auto construct = [&] {
    ranks.progress.work(fmt::format("{}: building the model, and its first step", title));
    const double begin = local_seconds();
    release_kept_memory();
    held = std::make_unique<Trainer>(options.training.trainer, ranks.host, ranks.host, trace);
    result.forward_flops = held->forward_flops();
    held->train_step();
    first_seconds = local_seconds() - begin;
  };
  if (fails([&] { return lack_of_memory(ranks, construct); })) return result;
  Trainer& trainer = *held;
  StepTimer timer(options.training.trainer.device);
  std::vector<double> warm_up;
  TimeSpan span;
  ranks.progress.cell(title);
  ranks.progress.expect(kRoundSeconds + first_seconds);
  do {
    if (fails([&] { return run_round(ranks, trainer, timer, warm_up, span); })) return result;
  } while (!all_agree(ranks.host, warm_up.size() > kStepsBeforeGraph));

  const auto wanted = static_cast<std::size_t>(options.steps);
  std::vector<double> mine;
  DeviceWatch watch(options.training.placed.uuid_of(ranks.session.rank()));
  std::vector<TimeSpan> spans;
  double begin = local_seconds();
  while (true) {
    begin += begin_in_turn(ranks, title, kRoundSeconds + first_seconds);
    if (fails([&] { return run_round(ranks, trainer, timer, mine, span); })) return result;
    spans.push_back(span);
    const bool all_have_steps = all_agree(ranks.host, wanted > 0 && mine.size() >= wanted);
    // A rank goes on beside one that has not its own yet.
    if (wanted > 0 && mine.size() > wanted) mine.resize(wanted);
    const bool all_narrow = all_agree(ranks.host, is_narrow(summarise(mine), kTarget));
    // Rank 0's clock decides, so that no rank leaves alone.
    double elapsed = local_seconds() - begin;
    broadcast(ranks.host, span_of(std::span(&elapsed, 1)), 0);
    const bool enough =
        (wanted > 0 ? all_have_steps : all_narrow) || elapsed >= options.max_seconds;
    if (!enough) continue;
    result.failure = joint_failure(ranks.host, trainer.failure());
    result.remarks = trainer.remarks();
    result.step_seconds = gather_lists(ranks.host, std::move(mine));
    result.cards = all_cards(ranks.host, watch.during(spans));
    return result;
  }
}

}  // namespace scalebench
