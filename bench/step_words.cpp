// SPDX-License-Identifier: Apache-2.0
#include "bench/step_words.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <string_view>

#include "bench/cli/choices.hpp"
#include "bench/cli/command_line.hpp"

namespace scalebench {
namespace {

constexpr std::array<std::string_view, 3> kChannelsLast{"no", "yes", "both"};
constexpr std::array<std::string_view, 2> kSteps{"eager", "graph"};

/// Which of `names` are listed, as their places.
std::vector<std::size_t> places(std::string_view option, const std::string& list,
                                std::span<const std::string_view> names) {
  std::vector<std::size_t> found;
  for (const std::string& name : split_list(option, list)) {
    require_known(option.substr(2), name, names);
    found.push_back(static_cast<std::size_t>(std::ranges::find(names, name) - names.begin()));
  }
  return found;
}

}  // namespace

void add_step_options(CLI::App& app, StepWords& words) {
  offer(app.add_option("--precision", words.precision,
                       "of forward and backward: float32; tf32, which lets tensor cores round "
                       "products; or autocast to bf16 or fp16 (loss scaling)")
            ->capture_default_str(),
        kPrecisionNames);
  offer(app.add_option("--channels-last", words.channels_last,
                       "yes: images and weights with the channel as the fastest index; in "
                       "bench_throughput also both: a case each")
            ->capture_default_str(),
        kChannelsLast);
  offer(app.add_option("--step", words.step,
                       "eager: kernels are launched one by one; graph: on a GPU, a step as one "
                       "CUDA graph")
            ->capture_default_str(),
        kSteps);
}

std::vector<StepVariant> step_variants(const StepWords& words) {
  require_known("channels-last", words.channels_last, kChannelsLast);
  const bool both = words.channels_last == "both";
  std::vector<StepVariant> variants;
  for (const std::size_t precision : places("--precision", words.precision, kPrecisionNames)) {
    for (const bool last : {false, true}) {
      if (!both && last != (words.channels_last == "yes")) continue;
      for (const std::size_t step : places("--step", words.step, kSteps)) {
        variants.push_back({static_cast<Precision>(precision), last, step == 1});
      }
    }
  }
  return variants;
}

void apply(const StepVariant& variant, TrainerOptions& trainer) {
  trainer.precision = variant.precision;
  trainer.channels_last = variant.channels_last;
  trainer.step_graph = variant.graph;
}

}  // namespace scalebench
