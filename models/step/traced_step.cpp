// SPDX-License-Identifier: Apache-2.0
#include "models/step/traced_step.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "kernels/error.hpp"
#include "kernels/json/parse_json.hpp"

namespace scalebench {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TracedLayer, name, forward_seconds, backward_seconds, gradients)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(StepProfile, batch, layers, load_seconds, update_seconds,
                                   host_seconds, step_seconds)

namespace {

using Json = nlohmann::json;

bool is_duration(double seconds) { return std::isfinite(seconds) && seconds >= 0; }

bool is_possible(const TracedLayer& layer) {
  const auto positive = [](std::int64_t count) { return count >= 1; };
  return is_duration(layer.forward_seconds) && is_duration(layer.backward_seconds) &&
         std::ranges::all_of(layer.gradients, positive);
}

/// Whether a step can have been so; the lists of layers and of steps are not empty then.
bool is_possible(const StepProfile& profile) {
  return profile.batch >= 1 && is_duration(profile.load_seconds) &&
         is_duration(profile.update_seconds) && is_duration(profile.host_seconds) &&
         !profile.layers.empty() && !profile.step_seconds.empty() &&
         std::ranges::all_of(profile.step_seconds, is_duration) &&
         std::ranges::all_of(profile.layers, [](auto& layer) { return is_possible(layer); });
}

/// Whether what counts is counted in whole numbers, of which the library's own reading would cut
/// off the fraction.
bool has_whole_counts(const Json& profile) {
  const auto is_whole = [](const Json& count) { return count.is_number_integer(); };
  return is_whole(profile.at("batch")) &&
         std::ranges::all_of(profile.at("layers"), [&](const Json& layer) {
           return std::ranges::all_of(layer.at("gradients"), is_whole);
         });
}

}  // namespace

double StepProfile::forward_seconds() const {
  double sum = 0;
  for (const TracedLayer& layer : layers) sum += layer.forward_seconds;
  return sum;
}

double StepProfile::backward_seconds() const {
  double sum = 0;
  for (const TracedLayer& layer : layers) sum += layer.backward_seconds;
  return sum;
}

double StepProfile::seconds() const {
  return load_seconds + forward_seconds() + backward_seconds() + update_seconds + host_seconds;
}

double StepProfile::gradients() const {
  double sum = 0;
  for (const TracedLayer& layer : layers) {
    for (const std::int64_t count : layer.gradients) sum += static_cast<double>(count);
  }
  return sum;
}

StepProfile parse_profile(std::string_view text, const std::string& file) {
  constexpr std::string_view kValid = "expected a trace that bench_epoch --record-trace writes";
  const Json json = parse_json<Json>(text, file, kValid);
  StepProfile profile;
  try {
    profile = json.get<StepProfile>();
  } catch (const Json::exception& error) {
    fail<UsageError>("{}: {}; {}", file, error.what(), kValid);
  }
  if (!has_whole_counts(json) || !is_possible(profile)) {
    fail<UsageError>(
        "{}: no step: a batch and gradients are whole numbers from 1 on, seconds 0 or more, and "
        "neither layers nor step_seconds are empty; {}",
        file, kValid);
  }
  return profile;
}

std::string json_of(const StepProfile& profile) { return Json(profile).dump(1) + '\n'; }

}  // namespace scalebench
