// SPDX-License-Identifier: Apache-2.0
#include "bench/study/plan/plan.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <random>
#include <tuple>
#include <utility>

#include "bench/cli/quantity.hpp"
#include "bench/study/plan/layouts.hpp"
#include "bench/study/plan/named.hpp"
#include "collectives/carries.hpp"
#include "kernels/error.hpp"

namespace scalebench {

int most_ranks_of_a_host(const std::vector<PlannedLaunch>& plan) {
  int most = 1;
  for (const PlannedLaunch& launch : plan) most = std::max(most, launch.per_node);
  return most;
}

std::filesystem::path planned_folder(const PlannedLaunch& launch) {
  return fmt::format("{}/launches/{:03}-{}", kPlannedRun, launch.number, launch.name);
}

namespace {

// Of one core and two ranks of this kind of machine (results/reference): what a start costs; how
// long a case warms up and is checked; how many repetitions of it a stop rule takes, if its cap
// lets it; images a second. Only the estimate before the first launch uses these: afterwards
// durations are known.
constexpr double kStartSeconds = 1.2;
// Of several hosts, which are looked at first: links, a round of the tournament at a time, and
// processors; starting a rank elsewhere takes longer, too.
constexpr double kRoundSeconds = 0.6, kHostSeconds = 0.45;
constexpr double kWarmUpSeconds = 0.2;
constexpr double kCheckSecondsPerByte = 7e-9;
constexpr double kRepetitions = 500;
constexpr double kLatencySeconds = 1e-6;
constexpr double kBytesPerSecond = 3e9;

double guessed_images_per_second(std::string_view model) {
  constexpr double kOfOthers = 300;
  constexpr std::pair<std::string_view, double> kRates[]{
      {"mlp", 2e5}, {"mnist_cnn", 900}, {"resnet20", 200}, {"resnet18", 10}, {"resnet50", 4}};
  const auto found = std::ranges::find(kRates, model, [](const auto& rate) { return rate.first; });
  return found == std::end(kRates) ? kOfOthers : found->second;
}

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

void append(PlannedLaunch& launch, const char* option, const auto& value) {
  launch.arguments.insert(launch.arguments.end(), {option, fmt::format("{}", value)});
}
template <class Value>
void append(PlannedLaunch& launch, const char* option, const std::vector<Value>& values) {
  append(launch, option, fmt::format("{}", fmt::join(values, ",")));
}

/// How its ranks find their devices, in every program of a study.
void append_devices(PlannedLaunch& launch, const StudyConfig& config) {
  append(launch, "--device", config.device);
  if (!config.devices.empty()) append(launch, "--devices", config.devices);
  if (config.share_devices) launch.arguments.emplace_back("--share-devices");
}

/// How many algorithms are measured, over all transports of one host. Names that stand for several
/// count as many; some algorithms need what one transport alone has.
double algorithms_of(const AllreduceStudy& study) {
  constexpr double kAllOnBoth = 21, kAllOnOne = 11;
  const bool both = study.transport == "auto" || study.transport == "all";
  double count = 0;
  for (const std::string& name : study.algorithms) {
    const bool on_one = name == "one_shot" || name == "direct" || name == "native";
    count += name == "all" ? (both ? kAllOnBoth : kAllOnOne) : both && !on_one ? 2 : 1;
  }
  return count;
}

/// Its cases, each with its warm-up, its check, and repetitions until its interval is narrow or its
/// time is up. `most`: all of them until their time is up.
void guess_allreduce(const AllreduceStudy& study, PlannedLaunch& launch) {
  constexpr double kAllDtypes = 5, kBeside = 0.3;
  const bool all_dtypes = study.dtypes.front() == "all";
  const double buffers = std::max(1.0, static_cast<double>(study.registrations.size()));
  const double kinds = algorithms_of(study) * buffers *
                       (all_dtypes ? kAllDtypes : static_cast<double>(study.dtypes.size()));
  const auto last = static_cast<double>(parse_size("max", study.max_bytes));
  auto bytes = static_cast<double>(parse_size("min", study.min_bytes));
  const double factor = std::max(2.0, static_cast<double>(study.factor));
  double each = 0, most = 0;  // of one kind, all sizes
  for (; bytes <= last; bytes *= factor) {
    const double once = kLatencySeconds + bytes / kBytesPerSecond;
    each += kWarmUpSeconds + kCheckSecondsPerByte * bytes +
            std::min(study.max_seconds, kRepetitions * once);
    most += kBeside + study.max_seconds + kCheckSecondsPerByte * bytes;
  }
  launch.guess_seconds = kStartSeconds + kinds * each;
  launch.most_seconds = kStartSeconds + kinds * most;
}

PlannedLaunch allreduce_launch(const StudyConfig& config, const Place& place) {
  const AllreduceStudy& study = *config.allreduce;
  PlannedLaunch launch = launch_on(place, "allreduce", "bench_allreduce");
  append(launch, "-b", study.min_bytes);
  append(launch, "-e", study.max_bytes);
  append(launch, "-f", study.factor);
  append(launch, "-d", study.dtypes);
  append(launch, "--algorithm", study.algorithms);
  append(launch, "--transport", study.transport);
  append(launch, "--cache", study.cache);
  if (!study.registrations.empty()) {
    append(launch, "--register", fmt::format("{}", fmt::join(study.registrations, ",")));
  }
  append(launch, "--order", "shuffled");
  append(launch, "--max-seconds", study.max_seconds);
  append_devices(launch, config);
  guess_allreduce(study, launch);
  return launch;
}

PlannedLaunch throughput_launch(const StudyConfig& config, const std::string& model,
                                const Place& place) {
  const ThroughputStudy& study = *config.throughput;
  PlannedLaunch launch = launch_on(place, "throughput-" + model, "bench_throughput");
  launch.model = model;
  append(launch, "--model", model);
  append(launch, "--data", study.data);
  if (study.batches_per_rank.empty()) append(launch, "--batch-per-rank", study.batch_per_rank);
  if (!study.batches_per_rank.empty()) append(launch, "--batch-per-rank", study.batches_per_rank);
  append(launch, "--threads", config.threads);
  append(launch, "--max-seconds", study.max_seconds);
  append(launch, "--seed", config.seed);
  append_devices(launch, config);
  const std::vector<std::string> float32{"float32"}, eager{"eager"};
  if (study.precisions != float32) append(launch, "--precision", study.precisions);
  if (study.channels_last != "no") append(launch, "--channels-last", study.channels_last);
  if (study.steps != eager) append(launch, "--step", study.steps);
  if (config.monitor) launch.arguments.emplace_back("--monitor");
  const std::size_t formats = study.channels_last == "both" ? 2 : 1;
  const std::size_t cases = std::max<std::size_t>(1, study.batches_per_rank.size()) *
                            study.precisions.size() * formats * study.steps.size();
  // A case is warmed up and profiled with whole steps, which may be longer than all that repeats.
  constexpr double kBatch = 128, kStepsBeside = 12;
  const double step =
      (study.batch_per_rank > 0 ? static_cast<double>(study.batch_per_rank) : kBatch) /
      guessed_images_per_second(model);
  launch.guess_seconds =
      kStartSeconds + static_cast<double>(cases) * (study.max_seconds + kStepsBeside * step);
  return launch;
}

PlannedLaunch epoch_launch(const StudyConfig& config, std::size_t index, const std::string& sync,
                           const Place& place) {
  const EpochStudy& study = config.epochs[index];
  const bool strong = study.scaling == "strong";
  const int ranks = place.ranks();
  PlannedLaunch launch = launch_on(
      place, fmt::format("epoch-{}-{}-{}", study.model, sync, study.scaling), "bench_epoch");
  launch.study = index;
  launch.model = study.model;
  launch.gradient_sync = sync;
  launch.scaling = study.scaling;
  launch.allreduce = study.allreduce;
  append(launch, "--model", study.model);
  append(launch, "--data", study.data);
  append(launch, "--gradient-sync", sync);
  if (sends_allreduces(sync)) append(launch, "--allreduce", study.allreduce);
  if (!sends_nothing(sync)) append(launch, "--transport", study.transport);
  append(launch, "--scaling", study.scaling);
  if (strong) append(launch, "--global-batch", study.global_batch);
  if (!strong) append(launch, "--batch-per-rank", study.batch_per_rank);
  append(launch, "--samples", study.samples);
  append(launch, "--epochs", study.epochs);
  append(launch, "--lr", study.learning_rate);
  append(launch, "--threads", config.threads);
  append(launch, "--seed", config.seed);
  append_devices(launch, config);
  if (!study.optimizer.empty()) append(launch, "--optimizer", study.optimizer);
  const bool has_target = study.target_accuracy > 0 && sync != "barrier_only";
  if (has_target) append(launch, "--target-accuracy", study.target_accuracy);
  // The plain loop trains the same model as one_device does: once is enough to say how well, unless
  // that says when to stop.
  const bool said_elsewhere = (sync == "none" && !has_target) || sync == "barrier_only";
  if (!study.evaluate || said_elsewhere) launch.arguments.emplace_back("--no-evaluation");
  if (config.monitor) launch.arguments.emplace_back("--monitor");
  if (config.record_trace && sync == "one_device") append(launch, "--record-trace", "trace.json");
  // Servers see no images. Too few ranks for one, which the program refuses, are no worker.
  const int workers = std::max(1, workers_among(ranks, sync));
  if (sync == "one_device" && ranks > 1) {
    launch.skipped_because = "one_device is the base on one rank; mirrored is its like for more";
  } else if (!strong) {
    const std::optional<std::int64_t> images = images_of(study.data);
    if (images && study.samples > *images / workers) {
      launch.skipped_because =
          fmt::format("{} images of each of {} {}: {} has {}", study.samples, workers,
                      workers == ranks ? "ranks" : "workers", study.data, *images);
    }
  } else if (study.global_batch % workers != 0) {
    launch.skipped_because =
        fmt::format("global batch {} cannot be split over {} {}", study.global_batch, workers,
                    workers == ranks ? "ranks" : "workers");
  }
  const double samples = study.samples > 0 ? static_cast<double>(study.samples) : 60000;
  // Of weak scaling each rank has as many.
  const double epoch =
      samples / guessed_images_per_second(study.model) / (strong ? static_cast<double>(ranks) : 1);
  const auto epochs = static_cast<double>(study.epochs);
  // Where a target ends the training, `epochs` is a cap.
  launch.guess_seconds = kStartSeconds + epoch * (has_target ? std::max(1.0, epochs / 2) : epochs);
  launch.most_seconds = kStartSeconds + epoch * epochs;
  return launch;
}

/// One rank alone with its share of what N ranks do, which parts the loss of computing into smaller
/// batches and what ranks do to each other.
PlannedLaunch share_launch(const StudyConfig& config, std::size_t index, const Place& one,
                           const Place& place) {
  PlannedLaunch share = epoch_launch(config, index, "none", one);
  share.name += fmt::format("-share-of-{}", place.ranks());
  share.share_of = place.ranks();
  append(share, "--share-of", share.share_of);
  for (double* const seconds : {&share.guess_seconds, &share.most_seconds}) {
    *seconds = kStartSeconds + (*seconds - kStartSeconds) / place.ranks();
  }
  share.skipped_because = epoch_launch(config, index, "none", place).skipped_because;
  return share;  // wherever N ranks are, the share of one is the same
}

/// What looking at the hosts of a launch takes beside all else.
double look_seconds(int hosts) {
  if (hosts < 2) return 0;
  const int rounds = hosts - 1 + hosts % 2;
  return kRoundSeconds * rounds + kHostSeconds * hosts;
}

/// Why the ranks of a launch cannot do what it asks for where they are; empty: they can. A base has
/// no transport of its own, and is of no use without what it is the base of.
std::string why_not_here(const PlannedLaunch& launch, const StudyConfig& config,
                         const PlanLimits& limits) {
  const std::string transport = launch.program == "bench_epoch"
                                    ? config.epochs[launch.study].transport
                                    : argument_of(launch, "--transport");
  if (limits.looks_here && is_of_gpus(transport) && !limits.why_no_gpu.empty()) {
    return fmt::format("transport {}: {}", transport, limits.why_no_gpu);
  }
  const std::string lack =
      limits.looks_here ? why_not_installed(argument_of(launch, "--data")) : "";
  if (!lack.empty()) return lack;
  if (launch.ranks == 1 || !sends_allreduces(launch.gradient_sync)) return "";
  return why_not_carried(launch.allreduce, transport, launch.nodes);
}

/// Of the launches of one case the first: two [[epoch]] may have bases in common. Throws UsageError
/// for two whose rows would be of one case, though they train and evaluate otherwise.
std::vector<PlannedLaunch> each_once(const std::vector<PlannedLaunch>& round) {
  using Words = std::vector<std::string>;
  std::map<std::tuple<std::string, int, int, int, Words>, const PlannedLaunch*> first_of;
  std::vector<PlannedLaunch> once;
  for (const PlannedLaunch& launch : round) {
    // Rows say neither for how many epochs a launch trained nor whether it evaluated.
    Words of_case = launch.arguments;
    std::erase(of_case, "--no-evaluation");
    const auto epochs = std::ranges::find(of_case, "--epochs");
    if (epochs != of_case.end()) of_case.erase(epochs, epochs + 2);
    const auto [found, is_new] = first_of.try_emplace(
        {launch.program, launch.ranks, launch.nodes, launch.per_node, std::move(of_case)}, &launch);
    const PlannedLaunch& first = *found->second;
    if (is_new) once.push_back(launch);
    if (launch.arguments == first.arguments) continue;
    fail<UsageError>(
        "[[epoch]] {} and {} have {} in common and differ in epochs or evaluate, which tell no "
        "rows apart: give both the same",
        first.study + 1, launch.study + 1, launch.name);
  }
  return once;
}

/// Rows name their entry, so that no two of a round share a name.
void tell_apart(std::vector<PlannedLaunch>& round) {
  std::map<std::string, int> times;
  for (PlannedLaunch& launch : round) {
    if (const int time = ++times[launch.name]; time > 1) launch.name += fmt::format(".{}", time);
  }
}

/// Every program and place once; places by their number of ranks.
std::vector<PlannedLaunch> one_round(const StudyConfig& config, const std::vector<Place>& places,
                                     const PlanLimits& limits) {
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
      const EpochStudy& study = config.epochs[index];
      if (place.ranks() == 1) {
        if (study.plain_loop) round.push_back(epoch_launch(config, index, "none", place));
        round.push_back(epoch_launch(config, index, "one_device", place));
        continue;
      }
      for (const std::string& sync : study.gradient_syncs) {
        round.push_back(epoch_launch(config, index, sync, place));
      }
      if (study.split_compute) round.push_back(share_launch(config, index, places.front(), place));
    }
  }
  round = each_once(round);
  tell_apart(round);
  for (PlannedLaunch& launch : round) {
    if (launch.skipped_because.empty())
      launch.skipped_because = why_not_here(launch, config, limits);
    launch.guess_seconds += look_seconds(launch.nodes);
    if (launch.most_seconds > 0) launch.most_seconds += look_seconds(launch.nodes);
  }
  return round;
}

/// The config's, on hosts that have them.
std::vector<Layout> layouts_on(const Hosts& hosts, const StudyConfig& config, bool oversubscribe) {
  std::vector<Layout> layouts = config.layouts;
  if (layouts.empty()) {
    for (const int ranks : config.ranks) layouts.push_back(layout_of(ranks, hosts, oversubscribe));
  }
  if (layouts.empty()) layouts = default_layouts(hosts);
  for (const Layout& layout : layouts) hosts_of(layout, hosts, oversubscribe);
  return layouts;
}

/// By number of ranks, then of hosts.
std::vector<Place> places_of(const StudyConfig& config, const PlanLimits& limits) {
  std::vector<Layout> layouts = layouts_on(limits.all_hosts(), config, limits.oversubscribe);
  // N = 1 is what all others are compared with.
  if (!config.epochs.empty() || config.throughput) layouts.push_back({1, 1});
  std::ranges::sort(layouts, {},
                    [](const Layout& one) { return std::pair(one.ranks(), one.nodes); });
  layouts.erase(std::unique(layouts.begin(), layouts.end()), layouts.end());
  std::vector<Place> places;
  for (const Layout& layout : layouts) {
    const bool several = limits.hosts.size() > 1;
    places.push_back({layout, several ? layout_words(layout) : fmt::format("n{}", layout.ranks())});
  }
  return places;
}

/// What is compared with each other within a round, and so lies side by side.
std::string family_of(const PlannedLaunch& launch) {
  if (launch.program == "bench_epoch") return fmt::format("epoch {}", launch.study);
  return launch.program + " " + launch.model;
}

void shuffle(auto& items, std::mt19937_64& random) {
  for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[random() % i]);
}

/// In random order: families, and the launches of each.
std::vector<PlannedLaunch> shuffled(std::vector<PlannedLaunch> round, std::mt19937_64& random) {
  shuffle(round, random);
  std::vector<std::string> families;
  for (const PlannedLaunch& launch : round) {
    const std::string family = family_of(launch);
    if (std::ranges::find(families, family) == families.end()) families.push_back(family);
  }
  shuffle(families, random);
  const auto place = [&](const PlannedLaunch& launch) {
    return std::ranges::find(families, family_of(launch)) - families.begin();
  };
  std::ranges::stable_sort(round, {}, place);
  return round;
}

}  // namespace

std::vector<PlannedLaunch> plan_of(const StudyConfig& config, const PlanLimits& limits) {
  const std::vector<Place> places = places_of(config, limits);
  const std::vector<PlannedLaunch> round = one_round(config, places, limits);
  if (round.empty()) {
    fail<UsageError>("nothing to measure: an allreduce needs 2 ranks, and this study has {}",
                     places.back().ranks());
  }
  std::mt19937_64 random(config.seed);
  std::vector<PlannedLaunch> plan;
  for (int number = 0; number < config.launches; ++number) {
    for (PlannedLaunch& launch : shuffled(one_round(config, places, limits), random)) {
      launch.round = number;
      launch.number = static_cast<int>(plan.size()) + 1;
      if (launch.program == "bench_allreduce") {
        // Every launch shuffles its own cases, by a seed that follows from the study's.
        const std::uint64_t seed = config.seed * 1000 + static_cast<std::uint64_t>(number);
        append(launch, "--seed", seed);
      }
      plan.push_back(std::move(launch));
    }
  }
  return plan;
}

std::string argument_of(const std::vector<std::string>& words, std::string_view option) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (word == option && i + 1 < words.size()) return words[i + 1];
    if (word.starts_with(option) && word.substr(option.size()).starts_with('=')) {
      return std::string(word.substr(option.size() + 1));
    }
  }
  return "";
}

}  // namespace scalebench
