// SPDX-License-Identifier: Apache-2.0
#include "bench/study/plan/plan.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <random>

#include "bench/launch/hosts.hpp"
#include "bench/study/plan/config.hpp"
#include "kernels/error.hpp"

namespace scalebench {

int most_ranks_of_a_host(const std::vector<PlannedLaunch>& plan) {
  int most = 1;
  for (const PlannedLaunch& launch : plan) {
    most = std::max(most, launch.nodes > 0 ? launch.per_node : launch.ranks);
  }
  return most;
}

std::filesystem::path planned_folder(const PlannedLaunch& launch) {
  return fmt::format("{}/launches/{:03}-{}", kPlannedRun, launch.number, launch.name);
}

std::vector<PlannedLaunch> certify_plan(StudyConfig config, const PlanLimits& limits) {
  config.launches *= 2;
  std::vector<PlannedLaunch> plan = plan_of(config, limits);
  std::mt19937_64 random(config.seed);
  bool is_b = false;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    // The second of a pair is what the first is not.
    is_b = i % 2 == 0 ? random() % 2 == 1 : !is_b;
    plan[i].name += is_b ? "-b" : "-a";
  }
  return plan;
}

namespace {

// What a start of MPI and LibTorch costs; and, very roughly, images a second of one core. Only the
// estimate before the first launch uses these: afterwards durations are known.
constexpr double kStartSeconds = 2;
constexpr double kGuessedImagesPerSecond = 1000;

/// Where the ranks of a launch are, and how its name says it.
struct Place {
  Layout layout;
  std::string words;  // "n4", "2x2"
  int ranks() const { return layout.ranks(); }
};

PlannedLaunch launch_on(const Place& place, std::string_view what, std::string program) {
  PlannedLaunch launch;
  launch.name = fmt::format("{}-{}", what, place.words);
  launch.program = std::move(program);
  launch.ranks = place.ranks();
  launch.nodes = place.layout.nodes;
  launch.per_node = place.layout.per_node;
  return launch;
}

/// How its ranks find their devices, in every program of a study.
void add_device_words(const StudyConfig& config, PlannedLaunch& launch) {
  launch.arguments.insert(launch.arguments.end(), {"--device", config.device});
  if (!config.gpus.empty()) {
    launch.arguments.insert(launch.arguments.end(), {"--devices", config.gpus});
  }
  if (config.share_devices) launch.arguments.emplace_back("--share-devices");
}

std::string number_text(double value) { return fmt::format("{}", value); }

/// Cases times what each may take, with its warm-up. Names that stand for several count as many.
double guess_seconds(const AllreduceStudy& study) {
  constexpr double kSizes = 9, kAllNames = 12, kTransportsEach = 2, kBesideRepeating = 0.3;
  const auto names = [](const std::vector<std::string>& list) {
    return list.front() == "all" ? kAllNames : static_cast<double>(list.size());
  };
  const double cases = kSizes * kTransportsEach * names(study.algorithms) * names(study.dtypes);
  return kStartSeconds + cases * (study.max_seconds + kBesideRepeating);
}

PlannedLaunch allreduce_launch(const StudyConfig& config, const Place& place) {
  const AllreduceStudy& study = *config.allreduce;
  PlannedLaunch launch = launch_on(place, "allreduce", "bench_allreduce");
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
  add_device_words(config, launch);
  launch.guess_seconds = guess_seconds(study);
  return launch;
}

PlannedLaunch throughput_launch(const StudyConfig& config, const std::string& model,
                                const Place& place) {
  const ThroughputStudy& study = *config.throughput;
  const std::string batches = study.batches.empty()
                                  ? std::to_string(study.batch)
                                  : fmt::format("{}", fmt::join(study.batches, ","));
  PlannedLaunch launch = launch_on(place, "throughput-" + model, "bench_throughput");
  launch.arguments = {"--model",       model,
                      "--data-dir",    study.data,
                      "--batch",       batches,
                      "--threads",     std::to_string(config.threads),
                      "--max-seconds", number_text(study.max_seconds),
                      "--seed",        std::to_string(config.seed)};
  add_device_words(config, launch);
  const auto add = [&](const char* option, const std::string& value, std::string_view usual) {
    if (value != usual) launch.arguments.insert(launch.arguments.end(), {option, value});
  };
  add("--precision", fmt::format("{}", fmt::join(study.precisions, ",")), "float32");
  add("--channels-last", study.channels_last, "no");
  add("--step", fmt::format("{}", fmt::join(study.steps, ",")), "eager");
  add("--memory-limit", study.memory_limit, "");
  if (!study.roofline) launch.arguments.emplace_back("--no-roofline");
  if (config.monitor) launch.arguments.emplace_back("--monitor");
  const std::size_t formats = study.channels_last == "both" ? 2 : 1;
  const std::size_t cases = std::max<std::size_t>(1, study.batches.size()) *
                            study.precisions.size() * formats * study.steps.size();
  launch.guess_seconds = kStartSeconds + static_cast<double>(cases) * (1 + study.max_seconds);
  return launch;
}

PlannedLaunch epoch_launch(const StudyConfig& config, std::size_t index, const std::string& sync,
                           const Place& place) {
  const EpochStudy& study = config.epochs[index];
  const bool strong = study.scaling == "strong";
  const int ranks = place.ranks();
  const bool replayed = is_replay(study.model);
  std::string model = label_in_rows(study.model);
  std::ranges::replace(model, ':', '-');  // a folder is called so
  PlannedLaunch launch =
      launch_on(place, fmt::format("epoch-{}-{}-{}", model, sync, study.scaling), "bench_epoch");
  launch.study = index;
  launch.gradient_sync = sync;
  launch.arguments = {"--model",
                      study.model,
                      replayed ? "--dilation" : "--data-dir",
                      replayed ? number_text(study.dilation) : study.data,
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
                      "--seed",
                      std::to_string(config.seed)};
  add_device_words(config, launch);
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
  if (config.record_trace && sync == "one_device" && !replayed) {
    launch.arguments.insert(launch.arguments.end(), {"--record-trace", "trace.json"});
  }
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
void add_ladder(const StudyConfig& config, std::size_t index, const Place& one, const Place& place,
                std::vector<PlannedLaunch>& round) {
  const EpochStudy& study = config.epochs[index];
  PlannedLaunch share = epoch_launch(config, index, "none", one);
  share.name += fmt::format("-share-of-{}", place.ranks());
  share.arguments.insert(share.arguments.end(), {"--share-of", std::to_string(place.ranks())});
  share.skipped_because = epoch_launch(config, index, "none", place).skipped_because;
  // Wherever N ranks are, the share of one is the same.
  if (std::ranges::find(round, share.name, &PlannedLaunch::name) == round.end()) {
    round.push_back(share);
  }
  for (const char* sync : {"none", "barrier_only"}) {
    const auto& planned = study.gradient_syncs;
    if (std::ranges::find(planned, sync) == planned.end()) {
      round.push_back(epoch_launch(config, index, sync, place));
    }
  }
}

/// Every program and place once; places by their number of ranks.
std::vector<PlannedLaunch> one_round(const StudyConfig& config, const std::vector<Place>& places) {
  std::vector<PlannedLaunch> round;
  for (const Place& place : places) {
    // One rank has nobody to exchange with.
    if (config.allreduce && place.ranks() > 1) round.push_back(allreduce_launch(config, place));
    if (config.throughput) {
      for (const std::string& model : config.throughput->models) {
        round.push_back(throughput_launch(config, model, place));
      }
    }
    for (std::size_t index = 0; index < config.epochs.size(); ++index) {
      if (place.ranks() == 1) {
        round.push_back(epoch_launch(config, index, "none", place));
        round.push_back(epoch_launch(config, index, "one_device", place));
        continue;
      }
      for (const std::string& sync : config.epochs[index].gradient_syncs) {
        round.push_back(epoch_launch(config, index, sync, place));
      }
      if (config.epochs[index].ladder) add_ladder(config, index, places.front(), place, round);
    }
  }
  return round;
}

void require_devices(int ranks, const PlanLimits& limits) {
  if (ranks <= limits.devices || limits.oversubscribe) return;
  fail<UsageError>(
      "{} ranks on {} core(s) or device(s): ranks that share one measure the scheduler; "
      "use at most {}, or --oversubscribe, which marks every row emulated",
      ranks, limits.devices, limits.devices);
}

/// On this host alone.
std::vector<Layout> layouts_here(const StudyConfig& config, const PlanLimits& limits) {
  std::vector<Layout> layouts = config.layouts;
  if (layouts.empty()) {
    std::vector<int> all = config.ranks;
    if (all.empty()) all = powers_up_to(limits.devices);
    for (const int ranks : all) layouts.push_back({1, ranks});
  }
  for (const Layout& layout : layouts) {
    if (layout.nodes > 1) {
      fail<UsageError>("layout {} needs {} hosts; name them: --hosts h1:{},h2:{}...",
                       layout_words(layout), layout.nodes, layout.per_node, layout.per_node);
    }
  }
  require_devices(std::ranges::max(layouts).ranks(), limits);
  return layouts;
}

std::vector<Layout> layouts_on_hosts(const StudyConfig& config, const PlanLimits& limits) {
  std::vector<Layout> layouts = config.layouts;
  if (layouts.empty()) {
    for (const int ranks : config.ranks) {
      layouts.push_back(layout_of(ranks, limits.hosts, limits.oversubscribe));
    }
  }
  if (layouts.empty()) layouts = default_layouts(limits.hosts);
  for (const Layout& layout : layouts) hosts_of(layout, limits.hosts, limits.oversubscribe);
  return layouts;
}

/// By number of ranks, then of hosts.
std::vector<Place> places_of(const StudyConfig& config, const PlanLimits& limits) {
  std::vector<Layout> layouts =
      limits.hosts.empty() ? layouts_here(config, limits) : layouts_on_hosts(config, limits);
  // N = 1 is what all others are compared with.
  if (!config.epochs.empty() || config.throughput) layouts.push_back({1, 1});
  std::ranges::sort(layouts, {},
                    [](const Layout& one) { return std::pair(one.ranks(), one.nodes); });
  layouts.erase(std::ranges::unique(layouts).begin(), layouts.end());
  std::vector<Place> places;
  for (const Layout& layout : layouts) {
    const bool several = limits.hosts.size() > 1;
    places.push_back({layout, several ? layout_words(layout) : fmt::format("n{}", layout.ranks())});
  }
  return places;
}

}  // namespace

std::vector<PlannedLaunch> plan_of(const StudyConfig& config, const PlanLimits& limits) {
  const std::vector<Place> places = places_of(config, limits);
  if (one_round(config, places).empty()) {
    fail<UsageError>("nothing to measure: an allreduce needs 2 ranks, and this study has {}",
                     places.back().ranks());
  }
  std::mt19937_64 random(config.seed);
  std::vector<PlannedLaunch> plan;
  for (int number = 0; number < config.launches; ++number) {
    std::vector<PlannedLaunch> round = one_round(config, places);
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
