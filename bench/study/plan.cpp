// SPDX-License-Identifier: Apache-2.0
#include "bench/study/plan.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <random>

#include "kernels/error.hpp"

namespace scalebench {
namespace {

// What a start of MPI and LibTorch costs; and, very roughly, images a second of one core. Only the
// estimate before the first launch uses these: afterwards durations are known.
constexpr double kStartSeconds = 2;
constexpr double kGuessedImagesPerSecond = 1000;

std::string number_text(double value) { return fmt::format("{}", value); }

/// Cases times what each may take, with its warm-up. Names that stand for several count as many.
double guess_seconds(const AllreduceStudy& study) {
  constexpr double kSizes = 9, kAllNames = 12, kTransports = 2, kBesideRepeating = 0.3;
  const auto names = [](const std::vector<std::string>& list) {
    return list.front() == "all" ? kAllNames : static_cast<double>(list.size());
  };
  const double cases = kSizes * kTransports * names(study.algorithms) * names(study.dtypes);
  return kStartSeconds + cases * (study.max_seconds + kBesideRepeating);
}

PlannedLaunch allreduce_launch(const StudyConfig& config, int ranks) {
  const AllreduceStudy& study = *config.allreduce;
  PlannedLaunch launch;
  launch.name = fmt::format("allreduce-n{}", ranks);
  launch.program = "bench_allreduce";
  launch.ranks = ranks;
  launch.arguments = {"-b",
                      study.min_bytes,
                      "-e",
                      study.max_bytes,
                      "-f",
                      std::to_string(study.factor),
                      "-d",
                      fmt::format("{}", fmt::join(study.dtypes, ",")),
                      "--algorithm",
                      fmt::format("{}", fmt::join(study.algorithms, ",")),
                      "--transport",
                      study.transport,
                      "--cache",
                      study.cache,
                      "--order",
                      "shuffled",
                      "--max-seconds",
                      number_text(study.max_seconds)};
  launch.guess_seconds = guess_seconds(study);
  return launch;
}

PlannedLaunch throughput_launch(const StudyConfig& config, const std::string& model, int ranks) {
  const ThroughputStudy& study = *config.throughput;
  PlannedLaunch launch;
  launch.name = fmt::format("throughput-{}-n{}", model, ranks);
  launch.program = "bench_throughput";
  launch.ranks = ranks;
  launch.arguments = {"--model",       model,
                      "--data-dir",    study.data,
                      "--batch",       std::to_string(study.batch),
                      "--threads",     std::to_string(config.threads),
                      "--device",      config.device,
                      "--max-seconds", number_text(study.max_seconds),
                      "--seed",        std::to_string(config.seed)};
  if (config.monitor) launch.arguments.emplace_back("--monitor");
  launch.guess_seconds = kStartSeconds + 1 + study.max_seconds;
  return launch;
}

PlannedLaunch epoch_launch(const StudyConfig& config, std::size_t index, const std::string& sync,
                           int ranks) {
  const EpochStudy& study = config.epochs[index];
  const bool strong = study.scaling == "strong";
  PlannedLaunch launch;
  launch.name = fmt::format("epoch-{}-{}-{}-n{}", study.model, sync, study.scaling, ranks);
  launch.program = "bench_epoch";
  launch.ranks = ranks;
  launch.study = index;
  launch.gradient_sync = sync;
  launch.arguments = {"--model",
                      study.model,
                      "--data-dir",
                      study.data,
                      "--gradient-sync",
                      sync,
                      "--allreduce",
                      study.allreduce,
                      "--transport",
                      study.transport,
                      "--scaling",
                      study.scaling,
                      strong ? "--global-batch" : "--batch",
                      std::to_string(study.batch),
                      "--samples",
                      std::to_string(study.samples),
                      "--epochs",
                      std::to_string(study.epochs),
                      "--lr",
                      number_text(study.learning_rate),
                      "--threads",
                      std::to_string(config.threads),
                      "--device",
                      config.device,
                      "--seed",
                      std::to_string(config.seed)};
  if (!study.optimizer.empty()) {
    launch.arguments.insert(launch.arguments.end(), {"--optimizer", study.optimizer});
  }
  const bool has_target = study.target_accuracy > 0 && sync != "barrier_only";
  if (has_target) {
    launch.arguments.insert(launch.arguments.end(),
                            {"--target-accuracy", number_text(study.target_accuracy)});
  }
  // The plain loop trains the same model as one_device does: once is enough to say how well, unless
  // that says when to stop.
  const bool said_elsewhere = (sync == "none" && !has_target) || sync == "barrier_only";
  if (!study.evaluate || said_elsewhere) launch.arguments.emplace_back("--no-evaluation");
  if (config.monitor) launch.arguments.emplace_back("--monitor");
  if (sync == "one_device" && ranks > 1) {
    launch.skipped_because = "one_device is the base on one rank; mirrored is its like for more";
  } else if (strong && study.batch > 0 && study.batch % ranks != 0) {
    launch.skipped_because =
        fmt::format("global batch {} cannot be split over {} ranks", study.batch, ranks);
  }
  const double samples = study.samples > 0 ? static_cast<double>(study.samples) : 60000;
  launch.guess_seconds =
      kStartSeconds + samples * static_cast<double>(study.epochs) / kGuessedImagesPerSecond / ranks;
  return launch;
}

/// What a ladder adds to the strategies on N ranks: one rank alone with its share of the images,
/// the plain loop on all at once, and the same with a barrier a step.
void add_ladder(const StudyConfig& config, std::size_t index, int ranks,
                std::vector<PlannedLaunch>& round) {
  const EpochStudy& study = config.epochs[index];
  PlannedLaunch share = epoch_launch(config, index, "none", 1);
  share.name += fmt::format("-share-of-{}", ranks);
  share.arguments.insert(share.arguments.end(), {"--share-of", std::to_string(ranks)});
  share.skipped_because = epoch_launch(config, index, "none", ranks).skipped_because;
  round.push_back(share);
  for (const char* sync : {"none", "barrier_only"}) {
    const auto& planned = study.gradient_syncs;
    if (std::ranges::find(planned, sync) == planned.end()) {
      round.push_back(epoch_launch(config, index, sync, ranks));
    }
  }
}

/// Every program and N once.
std::vector<PlannedLaunch> one_round(const StudyConfig& config,
                                     const std::vector<int>& rank_counts) {
  std::vector<PlannedLaunch> round;
  for (const int ranks : rank_counts) {
    // One rank has nobody to exchange with.
    if (config.allreduce && ranks > 1) round.push_back(allreduce_launch(config, ranks));
    if (config.throughput) {
      for (const std::string& model : config.throughput->models) {
        round.push_back(throughput_launch(config, model, ranks));
      }
    }
    for (std::size_t index = 0; index < config.epochs.size(); ++index) {
      if (ranks == 1) {
        round.push_back(epoch_launch(config, index, "none", 1));
        round.push_back(epoch_launch(config, index, "one_device", 1));
        continue;
      }
      for (const std::string& sync : config.epochs[index].gradient_syncs) {
        round.push_back(epoch_launch(config, index, sync, ranks));
      }
      if (config.epochs[index].ladder) add_ladder(config, index, ranks, round);
    }
  }
  return round;
}

}  // namespace

std::vector<int> default_ranks(int devices) {
  std::vector<int> ranks;
  for (int n = 1; n < devices; n *= 2) ranks.push_back(n);
  ranks.push_back(devices);
  return ranks;
}

std::vector<PlannedLaunch> plan_of(const StudyConfig& config, const PlanLimits& limits) {
  std::vector<int> ranks = config.ranks.empty() ? default_ranks(limits.devices) : config.ranks;
  // N = 1 is what all others are compared with.
  if (!config.epochs.empty() || config.throughput) ranks.push_back(1);
  std::ranges::sort(ranks);
  ranks.erase(std::ranges::unique(ranks).begin(), ranks.end());
  if (ranks.back() > limits.devices && !limits.oversubscribe) {
    fail<UsageError>(
        "{} ranks on {} core(s) or device(s): ranks that share one measure the scheduler; "
        "use at most {}, or --oversubscribe, which marks every row emulated",
        ranks.back(), limits.devices, limits.devices);
  }
  if (one_round(config, ranks).empty()) {
    fail<UsageError>("nothing to measure: an allreduce needs 2 ranks, and this study has {}",
                     ranks.back());
  }
  std::mt19937_64 random(config.seed);
  std::vector<PlannedLaunch> plan;
  for (int number = 0; number < config.launches; ++number) {
    std::vector<PlannedLaunch> round = one_round(config, ranks);
    for (std::size_t i = round.size(); i > 1; --i) std::swap(round[i - 1], round[random() % i]);
    for (PlannedLaunch& launch : round) {
      launch.round = number;
      launch.number = static_cast<int>(plan.size()) + 1;
      if (launch.program == "bench_allreduce") {
        // Every launch shuffles its own cases, by a seed that follows from the study's.
        const std::uint64_t seed = config.seed * 1000 + static_cast<std::uint64_t>(number);
        launch.arguments.insert(launch.arguments.end(), {"--seed", std::to_string(seed)});
      }
      plan.push_back(std::move(launch));
    }
  }
  return plan;
}

}  // namespace scalebench
