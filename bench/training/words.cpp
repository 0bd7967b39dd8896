// SPDX-License-Identifier: Apache-2.0
#include "bench/training/words.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <span>
#include <sstream>
#include <utility>
#include <vector>

#include "bench/program/words.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

constexpr double kMiB = 1024.0 * 1024.0;
constexpr std::array<std::string_view, 3> kProgress{"thread", "hook", "end"};
constexpr std::array<std::string_view, 3> kCompressions{"none", "fp16", "bfloat16"};
constexpr std::array<DType, 3> kWires{DType::float32, DType::float16, DType::bfloat16};
constexpr std::array<std::string_view, 2> kEpochRules{"true", "seed"};
constexpr std::array<std::string_view, 2> kRateSchedules{"constant", "resnet"};

/// Which options matter to a gradient sync.
constexpr auto kTold = std::to_array<std::pair<std::string_view, const char*>>({
#define GRADIENT_SYNC(name, equal, mean, overlaps, sends, workers, told, purpose) {#name, told},
#include "models/gradients/gradient_sync.def"
#undef GRADIENT_SYNC
});

/// "a=1 b=2" of those that have a value.
class Settings {
 public:
  void add(std::string_view name, const std::string& value) {
    if (!value.empty()) text_ += fmt::format("{}{}={}", text_.empty() ? "" : " ", name, value);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace

void add_gradient_sync_options(CLI::App& app, GradientSyncOptions& options) {
  const Heading strategy(app, kStrategy);
  const auto add_size = [&app](const std::string& name, std::size_t& bytes, const char* what) {
    const auto take = [name, &bytes](double mib) {
      if (!std::isfinite(mib) || mib <= 0) {
        fail<UsageError>("{} {}: must be a positive number of MiB", name, mib);
      }
      bytes = static_cast<std::size_t>(std::max(1.0, mib * kMiB));
    };
    add_word<double>(app, name, static_cast<double>(bytes) / kMiB, take, what);
  };
  const auto add_count = [&app](const std::string& name, int& count, const char* what) {
    const auto take = [name, &count](int number) {
      if (number < 1) fail<UsageError>("{} {}: must be at least 1", name, number);
      count = number;
    };
    add_word<int>(app, name, count, take, what);
  };
  const auto compress = [&options](const std::string& word) {
    require_known("compression", word, kCompressions);
    options.wire = kWires.at(
        static_cast<std::size_t>(std::ranges::find(kCompressions, word) - kCompressions.begin()));
  };
  const auto cycle = [&options](double milliseconds) {
    if (!std::isfinite(milliseconds) || milliseconds < 0) {
      fail<UsageError>("--cycle-ms {}: must be 0 or more", milliseconds);
    }
    options.cycle_seconds = milliseconds / 1000;
  };
  add_size("--bucket-mb", options.bucket_bytes,
           "bucketed_overlap: MiB of gradients that are reduced at once");
  add_choice(app, "--progress", options.progress, kProgress,
             "bucketed_overlap: who reduces a full bucket: a thread beside the backward pass, "
             "the backward pass itself (hook), or nobody before its end");
  offer(add_word<std::string>(app, "--compression", "none", compress,
                              "type in which gradients travel: none, fp16 or bfloat16"),
        kCompressions);
  add_size("--fusion-mb", options.fusion_bytes, "horovod: MiB of one fused message");
  add_word<double>(app, "--cycle-ms", options.cycle_seconds * 1000, cycle,
                   "horovod: time between rounds of negotiation");
  add_count("--servers", options.servers, "ps_sync, ps_async: ranks that hold the variables");
  add_count("--micro-batches", options.micro_batches, "model_split: parts of a step's images");
}

void check_gradient_sync_options(const CLI::App& app, std::string_view gradient_sync,
                                 const GradientSyncOptions& options) {
  std::map<std::string, std::vector<std::string_view>> readers;  // by option
  for (const auto& [sync, told] : kTold) {
    std::istringstream names(told);
    for (std::string name; names >> name;) {
      std::ranges::replace(name, '_', '-');
      readers["--" + name].push_back(sync);
    }
  }
  for (const auto& [option, syncs] : readers) {
    if (app.count(option) == 0 || std::ranges::count(syncs, gradient_sync) > 0) continue;
    fail<UsageError>("{}: gradient sync {} does not read it; expected {}", option, gradient_sync,
                     fmt::join(syncs, " or "));
  }
  if (options.wire != DType::float32 &&
      gradient_sync_named(gradient_sync).sends == Sends::nothing) {
    fail<UsageError>("--compression: gradient sync {} sends nothing; leave it out", gradient_sync);
  }
}

void add_input_options(CLI::App& app, TrainerOptions& options) {
  const Heading data(app, kModelAndData);
  app.add_option("--loader-threads", options.loader_threads,
                 "threads of each rank that prepare batches ahead; 0: the rank's own does it")
      ->capture_default_str();
  add_choice(
      app, "--epoch-rule", options.epoch_rule, kEpochRules,
      "true: every image at most once, what does not fill a step is left out; seed: steps as "
      "the textbook counts them (mlp 6000, mnist_cnn 500 // ranks; weak scaling)");
  add_choice(app, "--lr-schedule", options.rate.schedule, kRateSchedules,
             "constant, or resnet: 0.1 per 256 images of a step, 5 epochs of warm-up, a tenth "
             "of it after 30, 60, 80 and 90");
}

std::string text_of(std::string_view gradient_sync, const GradientSyncOptions& options) {
  const auto number = [](auto value) { return fmt::format("{}", value); };
  const std::map<std::string, std::string> values{
      {"bucket_mb", number(static_cast<double>(options.bucket_bytes) / kMiB)},
      {"progress", std::string(kProgress.at(static_cast<std::size_t>(options.progress)))},
      {"fusion_mb", number(static_cast<double>(options.fusion_bytes) / kMiB)},
      {"cycle_ms", number(options.cycle_seconds * 1000)},
      {"servers", number(options.servers)},
      {"micro_batches", number(options.micro_batches)}};
  Settings settings;
  for (const auto& [sync, told] : kTold) {
    if (sync != gradient_sync) continue;
    std::istringstream names(told);
    for (std::string name; names >> name;) settings.add(name, values.at(name));
  }
  if (options.wire != DType::float32) settings.add("wire", std::string(name_of(options.wire)));
  return settings.text();
}

std::string text_of_input(const TrainerOptions& options) {
  std::string text;
  if (options.loader_threads > 0) {
    text += fmt::format(" loader_threads={}", options.loader_threads);
  }
  if (options.epoch_rule == EpochRule::seed) text += " epoch_rule=seed";
  if (options.rate.schedule == RateSchedule::resnet) text += " lr_schedule=resnet";
  return text;
}

}  // namespace scalebench
