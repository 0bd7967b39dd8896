// SPDX-License-Identifier: Apache-2.0
#include "bench/input_words.hpp"

#include <CLI/CLI.hpp>
#include <array>
#include <cmath>

#include "bench/cli/choices.hpp"
#include "bench/cli/command_line.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

constexpr std::array<std::string_view, 2> kBadImages{"stop", "skip"};
constexpr std::array<std::string_view, 3> kPageCaches{"as_is", "cold", "warm"};
constexpr std::array<std::string_view, 2> kEpochRules{"true", "seed"};
constexpr std::array<std::string_view, 2> kRateSchedules{"constant", "resnet"};

std::string_view name_of(PageCache cache) { return kPageCaches[static_cast<std::size_t>(cache)]; }

}  // namespace

void add_input_options(CLI::App& app, InputWords& words, TrainerOptions& options) {
  app.add_option("--loader-threads", options.loader_threads,
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
  options.bad_images = words.bad_images == "skip" ? BadImages::skip : BadImages::stop;
  options.page_cache = words.page_cache == "cold"   ? PageCache::cold
                       : words.page_cache == "warm" ? PageCache::warm
                                                    : PageCache::as_is;
  options.epoch_rule = words.epoch_rule == "seed" ? EpochRule::seed : EpochRule::whole;
  options.rate.schedule =
      words.rate_schedule == "resnet" ? RateSchedule::resnet : RateSchedule::constant;
}

std::string text_of_input(const TrainerOptions& options) {
  std::string text;
  if (options.loader_threads > 0) {
    text += fmt::format(" loader_threads={}", options.loader_threads);
  }
  if (options.bad_images == BadImages::skip) text += " bad_images=skip";
  if (options.page_cache != PageCache::as_is) {
    text += fmt::format(" page_cache={}", name_of(options.page_cache));
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
