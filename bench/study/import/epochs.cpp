// SPDX-License-Identifier: Apache-2.0
#include "bench/study/import/epochs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "bench/measure/statistics.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

constexpr std::pair<std::string_view, double> kSamples[]{{"imagenet", 1281167},
                                                         {"mnist", 60000},
                                                         {"fashion-mnist", 60000},
                                                         {"cifar10", 50000},
                                                         {"cifar100", 50000}};

// Far above what anybody has published of one device (configs/published.csv), far below what a step
// makes of an epoch; images of 28 x 28 are some hundred times smaller than those of ImageNet.
constexpr double kFastestOnImagenet = 50'000;
constexpr double kFastestOnAnything = 10'000'000;

/// The images of an epoch of a well-known data set; nothing for another name.
std::optional<double> known_samples(std::string_view dataset) {
  for (const auto& [name, samples] : kSamples) {
    if (name == dataset) return samples;
  }
  return std::nullopt;
}

/// Sets `column` to a quotient or product that is a whole number, where it is empty.
void set_whole(ResultRow& row, std::string_view column, double value) {
  const bool whole = value > 0 && std::abs(value - std::round(value)) < 1e-9;
  if (whole && row.get(column).empty()) row.set(column, std::llround(value));
}

/// How many images a second one rank could train at the very most.
double fastest_images_per_s(const ResultRow& row) {
  const bool imagenet =
      row.get("dataset") == "imagenet" || number_in(row, "samples") == known_samples("imagenet");
  return imagenet ? kFastestOnImagenet : kFastestOnAnything;
}

}  // namespace

void add_accuracies(ImportedCase& one, const std::vector<double>& accuracies) {
  const double target = number_in(one.row, "target_accuracy");
  const auto reached =
      std::ranges::find_if(accuracies, [&](double accuracy) { return accuracy >= target; });
  if (reached != accuracies.end()) {
    const auto epoch = reached - accuracies.begin() + 1;
    set_where_empty(one.row, "epochs_to_target", std::to_string(epoch));
  }
  if (accuracies.size() == one.seconds.size()) one.accuracies = accuracies;
}

void complete_training(ResultRow& row) {
  if (row.schema().file != epoch_schema().file) return;
  const double ranks = number_in(row, "ranks");
  if (const auto samples = known_samples(row.get("dataset"))) set_whole(row, "samples", *samples);
  set_whole(row, "global_batch", number_in(row, "batch") * ranks);
  set_whole(row, "batch", number_in(row, "global_batch") / ranks);
  if (ranks == 1) set_where_empty(row, "gradient_sync", "one_device");
}

void require_possible(const ImportedCase& one, const std::string& file) {
  if (one.row.schema().file != epoch_schema().file || one.seconds.empty()) return;
  const double seconds = median_of(one.seconds);
  const double ranks = std::max(1.0, number_in(one.row, "ranks"));
  const double rate = number_in(one.row, "samples") / seconds / ranks;
  const double fastest = fastest_images_per_s(one.row);
  if (!(rate > fastest)) return;
  fail<UsageError>(
      "{}: epochs of {:g} s and {} images would be {:.0f} images/s on each rank, and no device "
      "comes near {:.0f}; are these steps? write --bench throughput",
      file, seconds, one.row.get("samples"), rate, fastest);
}

std::string check_states(ImportedCase& one) {
  constexpr std::array<const char*, 2> kMustBeThere{"compute_seconds", "transfer_seconds"};
  constexpr std::array<const char*, 2> kMayBeThere{"input_seconds", "evaluation_seconds"};
  double parts = 0;
  for (const char* const state : kMustBeThere) parts += number_in(one.row, state);
  if (one.seconds.empty() || std::isnan(parts)) return "";
  for (const char* const state : kMayBeThere) {
    set_where_empty(one.row, state, "0");
    parts += number_in(one.row, state);
  }
  const double mean = summarise(one.seconds).mean;
  constexpr double kRounding = 0.01;  // of what a log prints
  if (parts <= (1 + kRounding) * mean) return "";
  for (const char* const state : kMustBeThere) one.row.set(state, "");
  return fmt::format("the parts of an epoch sum to {:g} s, and it takes {:g} s", parts, mean);
}

}  // namespace scalebench
