// SPDX-License-Identifier: Apache-2.0
#include "bench/training/words.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <charconv>
#include <cmath>
#include <span>
#include <string_view>

#include "bench/cli/command_line.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

constexpr std::string_view kValid = "valid: RANK:SECONDS, as 1:0.05";

template <class Number>
bool parse(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

void require_seconds(std::string_view option, double seconds) {
  if (!std::isfinite(seconds) || seconds < 0 || seconds > 3600) {
    fail<UsageError>("--{} {}: must be seconds from 0 to 3600", option, seconds);
  }
}

}  // namespace

void add_fault_options(CLI::App& app, FaultWords& words, Faults& faults) {
  app.add_option("--sleep-rank", words.sleep_rank,
                 "inject a fault: RANK:SECONDS, this rank computes so much longer in each step")
      ->group("Faults");
  app.add_option("--delay-collective", faults.delay_collective_seconds,
                 "inject a fault: each communication takes so many seconds longer")
      ->group("Faults");
  app.add_option("--throttle-input", faults.throttle_input_seconds,
                 "inject a fault: loading takes so many seconds longer in each step")
      ->group("Faults");
}

void apply(const FaultWords& words, int ranks, Faults& faults) {
  require_seconds("delay-collective", faults.delay_collective_seconds);
  require_seconds("throttle-input", faults.throttle_input_seconds);
  if (words.sleep_rank.empty()) return;
  const std::string_view text = words.sleep_rank;
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || !parse(text.substr(0, colon), faults.sleep_rank) ||
      !parse(text.substr(colon + 1), faults.sleep_seconds)) {
    fail<UsageError>("--sleep-rank {}: {}", text, kValid);
  }
  if (faults.sleep_rank < 0 || faults.sleep_rank >= ranks) {
    fail<UsageError>("--sleep-rank {}: there are {} rank(s), from 0 on", text, ranks);
  }
  require_seconds("sleep-rank", faults.sleep_seconds);
}

std::string text_of(const Faults& faults) {
  std::string text;
  const auto add = [&](std::string_view name, const std::string& value) {
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  };
  if (faults.sleep_rank >= 0) {
    add("sleep_rank", fmt::format("{}:{}", faults.sleep_rank, faults.sleep_seconds));
  }
  if (faults.delay_collective_seconds > 0) {
    add("delay_collective", fmt::format("{}", faults.delay_collective_seconds));
  }
  if (faults.throttle_input_seconds > 0) {
    add("throttle_input", fmt::format("{}", faults.throttle_input_seconds));
  }
  return text;
}

namespace {

constexpr double kMiB = 1024.0 * 1024.0;
constexpr std::array<std::string_view, 3> kProgress{"thread", "hook", "end"};
constexpr std::array<std::string_view, 3> kCompressions{"none", "fp16", "bf16"};
constexpr std::array<std::string_view, 5> kCrossDevice{"", "nccl", "ring", "hierarchical_copy",
                                                       "reduce_to_one"};
constexpr std::array<std::string_view, 4> kCollectives{"", "ring", "nccl", "auto"};

std::size_t bytes_of(std::string_view option, double mib) {
  if (!std::isfinite(mib) || mib <= 0) {
    fail<UsageError>("--{} {}: must be a positive number of MiB", option, mib);
  }
  return static_cast<std::size_t>(std::max(1.0, mib * kMiB));
}

}  // namespace

void add_gradient_sync_options(CLI::App& app, GradientSyncWords& words,
                               GradientSyncOptions& options) {
  app.add_option("--bucket-mb", words.bucket_mb,
                 "bucketed_overlap: MiB of gradients that are reduced at once")
      ->capture_default_str();
  offer(app.add_option(
               "--progress", words.progress,
               "bucketed_overlap: who reduces a full bucket: a thread beside the backward pass, "
               "the backward pass itself (hook), or nobody before its end")
            ->capture_default_str(),
        kProgress);
  offer(app.add_option("--compression", words.compression,
                       "type in which gradients travel: none, fp16 or bf16")
            ->capture_default_str(),
        kCompressions);
  app.add_option("--fusion-mb", words.fusion_mb, "horovod: MiB of one fused message")
      ->capture_default_str();
  app.add_option("--cycle-ms", words.cycle_ms, "horovod: time between rounds of negotiation")
      ->capture_default_str();
  app.add_option("--servers", options.servers, "ps_sync, ps_async: ranks that hold the variables")
      ->capture_default_str();
  app.add_option("--micro-batches", options.micro_batches, "model_split: parts of a step's images")
      ->capture_default_str();
  offer(app.add_option(
            "--cross-device", options.cross_device,
            "mirrored: nccl, ring, hierarchical_copy or reduce_to_one instead of --allreduce"),
        std::span(kCrossDevice).subspan(1));
  offer(app.add_option("--collective", options.collective,
                       "multi_worker: ring, nccl or auto instead of --allreduce"),
        std::span(kCollectives).subspan(1));
}

void apply(const GradientSyncWords& words, GradientSyncOptions& options) {
  require_known("progress", words.progress, kProgress);
  require_known("compression", words.compression, kCompressions);
  require_known("cross-device", options.cross_device, kCrossDevice);
  require_known("collective", options.collective, kCollectives);
  options.bucket_bytes = bytes_of("bucket-mb", words.bucket_mb);
  options.fusion_bytes = bytes_of("fusion-mb", words.fusion_mb);
  options.progress = words.progress == "thread" ? Progress::thread
                     : words.progress == "hook" ? Progress::hook
                                                : Progress::end;
  if (words.compression == "fp16") options.wire = DType::float16;
  if (words.compression == "bf16") options.wire = DType::bfloat16;
  if (!std::isfinite(words.cycle_ms) || words.cycle_ms < 0) {
    fail<UsageError>("--cycle-ms {}: must be 0 or more", words.cycle_ms);
  }
  options.cycle_seconds = words.cycle_ms / 1000;
  if (options.servers < 1) fail<UsageError>("--servers {}: must be at least 1", options.servers);
  if (options.micro_batches < 1) {
    fail<UsageError>("--micro-batches {}: must be at least 1", options.micro_batches);
  }
}

std::string text_of(std::string_view gradient_sync, const GradientSyncOptions& options) {
  constexpr std::array<std::string_view, 3> kProgressNames{"thread", "hook", "end"};
  std::string text;
  const auto add = [&](std::string_view name, const auto& value) {
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  };
  if (gradient_sync == "bucketed_overlap") {
    add("bucket_mb", static_cast<double>(options.bucket_bytes) / kMiB);
    add("progress", kProgressNames.at(static_cast<std::size_t>(options.progress)));
  } else if (gradient_sync == "horovod") {
    add("fusion_mb", static_cast<double>(options.fusion_bytes) / kMiB);
    add("cycle_ms", options.cycle_seconds * 1000);
  } else if (gradient_sync.starts_with("ps_")) {
    add("servers", options.servers);
  } else if (gradient_sync == "model_split") {
    add("micro_batches", options.micro_batches);
  } else if (gradient_sync == "mirrored" && !options.cross_device.empty()) {
    add("cross_device", options.cross_device);
  } else if (gradient_sync == "multi_worker" && !options.collective.empty()) {
    add("collective", options.collective);
  }
  if (options.wire != DType::float32) add("wire", name_of(options.wire));
  return text;
}

namespace {

constexpr std::array<std::string_view, 2> kBadImages{"stop", "skip"};
constexpr std::array<std::string_view, 3> kPageCaches{"as_is", "cold", "warm"};
constexpr std::array<std::string_view, 2> kEpochRules{"true", "seed"};
constexpr std::array<std::string_view, 2> kRateSchedules{"constant", "resnet"};

std::string_view name_of(PageCache cache) { return kPageCaches[static_cast<std::size_t>(cache)]; }

}  // namespace

void add_input_options(CLI::App& app, InputWords& words, TrainerOptions& options) {
  app.add_option("--loader-threads", options.data.loader_threads,
                 "threads of each rank that prepare batches ahead; 0: the rank's own does it")
      ->capture_default_str();
  offer(
      app.add_option("--bad-images", words.bad_images,
                     "JPEG files that cannot be decoded: stop, or skip (the next good one instead)")
          ->capture_default_str(),
      kBadImages);
  offer(app.add_option(
               "--page-cache", words.page_cache,
               "of JPEG folders: as_is, cold (dropped before each epoch) or warm (read before)")
            ->capture_default_str(),
        kPageCaches);
  offer(app.add_option("--epoch-rule", words.epoch_rule,
                       "true: every image once; seed: steps as the textbook counts them (mlp 6000, "
                       "mnist_cnn 500 // ranks; weak scaling)")
            ->capture_default_str(),
        kEpochRules);
  offer(app.add_option(
               "--lr-schedule", words.rate_schedule,
               "constant, or resnet: 0.1 per 256 images of a step, 5 epochs of warm-up, a tenth "
               "of it after 30, 60, 80 and 90")
            ->capture_default_str(),
        kRateSchedules);
}

void apply(const InputWords& words, TrainerOptions& options) {
  require_known("bad-images", words.bad_images, kBadImages);
  require_known("page-cache", words.page_cache, kPageCaches);
  require_known("epoch-rule", words.epoch_rule, kEpochRules);
  require_known("lr-schedule", words.rate_schedule, kRateSchedules);
  options.data.bad_images = words.bad_images == "skip" ? BadImages::skip : BadImages::stop;
  options.data.page_cache = words.page_cache == "cold"   ? PageCache::cold
                            : words.page_cache == "warm" ? PageCache::warm
                                                         : PageCache::as_is;
  options.epoch_rule = words.epoch_rule == "seed" ? EpochRule::seed : EpochRule::whole;
  options.rate.schedule =
      words.rate_schedule == "resnet" ? RateSchedule::resnet : RateSchedule::constant;
}

std::string text_of_input(const TrainerOptions& options) {
  std::string text;
  if (options.data.loader_threads > 0) {
    text += fmt::format(" loader_threads={}", options.data.loader_threads);
  }
  if (options.data.bad_images == BadImages::skip) text += " bad_images=skip";
  if (options.data.page_cache != PageCache::as_is) {
    text += fmt::format(" page_cache={}", name_of(options.data.page_cache));
  }
  if (options.epoch_rule == EpochRule::seed) text += " epoch_rule=seed";
  if (options.rate.schedule == RateSchedule::resnet) text += " lr_schedule=resnet";
  return text;
}

std::string page_cache_text(PageCache asked, double resident) {
  if (std::isnan(resident)) return fmt::format("{} (residency unknown)", name_of(asked));
  return fmt::format("{} ({:.0f} % resident)", name_of(asked), 100 * resident);
}

}  // namespace scalebench
