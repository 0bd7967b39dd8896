// SPDX-License-Identifier: Apache-2.0
#include "bench/study/prediction/prediction.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "bench/measure/statistics.hpp"
#include "collectives/carries.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

double median_of_launches(const std::vector<EpochSample>& launches, double EpochSample::*member) {
  std::vector<double> values;
  for (const EpochSample& launch : launches) {
    // Where the clocks of hosts could not tell, others may have.
    if (!std::isnan(launch.*member)) values.push_back(launch.*member);
  }
  return median_of(values);
}

double geometric_mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += std::log(value);
  return std::exp(sum / static_cast<double>(values.size()));
}

bool is_positive(double value) { return std::isfinite(value) && value > 0; }

/// The profile in the middle by length, as long as the measured step.
StepProfile anchored(const PredictionCase& of) {
  std::vector<StepProfile> sorted = of.profiles;
  std::ranges::sort(sorted, {}, [](const StepProfile& profile) { return profile.seconds(); });
  StepProfile middle = sorted.at((sorted.size() - 1) / 2);
  middle.batch = std::llround(of.one.batch);
  const double measured = of.one.middle().seconds / of.one.steps();
  return stretched(middle, measured / middle.seconds());
}

}  // namespace

EpochSample EpochLeg::middle() const {
  return {median_of_launches(launches, &EpochSample::seconds),
          median_of_launches(launches, &EpochSample::compute_seconds),
          median_of_launches(launches, &EpochSample::transfer_seconds),
          median_of_launches(launches, &EpochSample::wait_static_seconds),
          median_of_launches(launches, &EpochSample::wait_jitter_seconds),
          median_of_launches(launches, &EpochSample::other_seconds)};
}

double Beside::slope() const {
  // Of (ln N, factor), with (0, 1); a rank by itself that was measured to differ stands instead.
  std::vector<std::pair<double, double>> points;
  if (!measured_.contains(1)) points.emplace_back(0, 1);
  for (const auto& [ranks, factor] : measured_) points.emplace_back(std::log(ranks), factor);
  const auto n = static_cast<double>(points.size());
  double x = 0, y = 0, xx = 0, xy = 0;
  for (const auto& point : points) x += point.first / n, y += point.second / n;
  for (const auto& point : points) {
    xx += (point.first - x) * (point.first - x);
    xy += (point.first - x) * (point.second - y);
  }
  return xx > 0 ? xy / xx : 0;
}

double Beside::at(double ranks) const {
  if (measured_.empty()) return unmeasured_;
  const auto after = measured_.lower_bound(ranks);
  if (after == measured_.end()) {
    const auto& [most, factor] = *measured_.rbegin();
    return factor + slope() * std::log(ranks / most);
  }
  if (after->first == ranks) return after->second;
  // One rank is undisturbed.
  std::pair<double, double> below{1, 1};
  if (after != measured_.begin()) below = *std::prev(after);
  return below.second +
         (after->second - below.second) * (ranks - below.first) / (after->first - below.first);
}

double Beside::of_time_at(double ranks) const {
  if (measured_.empty() || ranks <= measured_.rbegin()->first) return at(ranks);
  const auto& [most, factor] = *measured_.rbegin();
  const double falls = slope();
  // From the last measured one as steep as the line.
  return falls < 0 && factor > 0 ? factor * std::pow(ranks / most, falls / factor) : at(ranks);
}

PredictionCase without(PredictionCase of, int ranks) {
  std::erase_if(of.legs, [&](const EpochLeg& leg) { return leg.at.ranks == ranks; });
  std::erase_if(of.shares, [&](const ShareOfBatch& share) { return share.ranks == ranks; });
  for (auto& [name, curve] : of.curves) {
    std::vector<CurvePoint> rest = curve;
    std::erase_if(rest, [&](const CurvePoint& point) { return point.at.ranks == ranks; });
    if (!rest.empty()) curve = std::move(rest);
  }
  return of;
}

Predictor::Predictor(PredictionCase of) : case_(std::move(of)), profile_(anchored(case_)) {
  for (const ShareOfBatch& share : case_.shares) batches_.push_back(share.step);
  for (const auto& [name, points] : case_.curves) {
    curves_.emplace(name, AllreduceCurve({name, case_.transport, case_.on_device}, points,
                                         case_.on_one_machine));
  }
  calibrate();
}

const std::string& Predictor::algorithm_of(const Question& question) const {
  return question.algorithm.empty() ? case_.algorithm : question.algorithm;
}

const AllreduceCurve& Predictor::curve_of(std::string_view algorithm) const {
  const auto found = curves_.find(algorithm);
  if (found != curves_.end()) return found->second;
  fail<Unavailable>("no allreduce curve of {} was measured over this transport", algorithm);
}

/// By the model of an algorithm whose work is known; a ring's is closest to plain messages.
SimulatedLink Predictor::within_a_node() const {
  SimulatedLink link;
  for (const auto& [name, curve] : curves_) {
    const auto& fit = curve.fit(true);
    if (fit && curve.work_is_known() && (link.bytes_per_second == 0 || name == "ring")) {
      link = {1 / fit->beta_seconds_per_byte, fit->alpha_seconds};
    }
  }
  return link;
}

double Predictor::beside(const RankLayout& at) const {
  return case_.on_one_machine ? at.ranks : at.per_node();
}

/// Where it was not measured, communication is not taken to hold up more than it lasts.
double Predictor::overlap(const RankLayout& at) const {
  const Beside& overlap = calibration_.overlap;
  const double ranks = beside(at), share = overlap.at(ranks);
  const auto& measured = overlap.measured();
  if (measured.empty() || ranks <= measured.rbegin()->first) return share;
  return std::clamp(share, std::min(0.0, measured.rbegin()->second), 1.0);
}

StepInputs Predictor::inputs(const Question& question, double batch) const {
  StepInputs in;
  in.profile = with_batch(profile_, batch, batches_);
  const double host = in.profile.host_seconds;
  in.profile = stretched(std::move(in.profile), contention(question.at));
  in.profile.load_seconds *= calibration_.other;
  in.profile.host_seconds = calibration_.other * host;
  in.at = question.at;
  in.overlap = overlap(question.at);
  in.allreduce_seconds = [this, question, factor = transfer(question.at)](double bytes) {
    const std::string& algorithm = algorithm_of(question);
    const int nodes = question.at.nodes;
    if (const std::string why = why_not_carried(algorithm, case_.transport, nodes);
        nodes > 1 && !why.empty()) {
      throw Unavailable(why);
    }
    const AllreduceCurve& curve = curve_of(algorithm);
    return factor * curve.seconds(bytes, question.at, question.network);
  };
  return in;
}

double Predictor::longest_over_mean(const StepProfile& profile, int ranks) const {
  const std::vector<double>& steps = profile.step_seconds;
  if (steps.size() < 2 || ranks < 2) return 0;
  return expected_longest(steps, ranks) - expected_longest(steps, 1);
}

std::optional<PredictedStep> Predictor::modelled(const EpochLeg& leg, const StepInputs& in) const {
  if (!is_positive(leg.middle().compute_seconds)) return std::nullopt;
  try {
    return step_of(case_.strategy, in);
  } catch (const Unavailable&) {
    return std::nullopt;  // nothing is to be learned from it
  }
}

/// Nothing here is cut off on one side: what the measured N have lost, and no factor could hold,
/// would be missing on every other N.
void Predictor::calibrate() {
  std::map<double, std::vector<double>> contention;
  double expected_jitter = 0, measured_jitter = 0, jitter = 0, static_wait = 0, legs = 0;
  for (const EpochLeg& leg : case_.legs) {
    const EpochSample epoch = leg.middle();
    const StepInputs in = inputs({leg.at}, leg.batch);
    const std::optional<PredictedStep> alone = modelled(leg, in);
    if (!alone || !is_positive(alone->compute_seconds)) continue;
    if (!is_positive(epoch.compute_seconds)) continue;  // not known where its time went
    calibration_.ranks.push_back(leg.at.ranks);
    contention[beside(leg.at)].push_back(epoch.compute_seconds / leg.steps() /
                                         alone->compute_seconds);
    if (std::isnan(epoch.wait_jitter_seconds)) continue;  // only together with the transfer
    expected_jitter += longest_over_mean(in.profile, leg.at.ranks);
    measured_jitter += epoch.wait_jitter_seconds / leg.steps();
    jitter += epoch.wait_jitter_seconds / epoch.compute_seconds;
    static_wait += epoch.wait_static_seconds / epoch.compute_seconds;
    ++legs;
  }
  for (const auto& [ranks, factors] : contention) {
    calibration_.contention.set(ranks, geometric_mean(factors));
  }
  if (legs > 0) calibration_.static_wait = static_wait / legs;
  if (legs > 0 && expected_jitter > 0) {
    calibration_.jitter = std::max(0.0, measured_jitter / expected_jitter);
  } else if (legs > 0) {
    // The recorded steps all took as long: what jitter grows with is not known.
    calibration_.static_wait += jitter / legs;
  }
  calibrate_other();
  calibrate_transfer();
}

/// On a core that computes, communication beside the backward pass hides nothing.
Beside Predictor::unmeasured_overlap() const {
  return Beside(overlaps(case_.strategy) && case_.on_compute_core ? 0 : 1);
}

/// What several ranks need for input and host beyond what one does.
void Predictor::calibrate_other() {
  std::vector<double> factors;
  for (const EpochLeg& leg : case_.legs) {
    const std::optional<PredictedStep> step = modelled(leg, inputs({leg.at}, leg.batch));
    const double measured = leg.middle().other_seconds / leg.steps();
    if (!step || !is_positive(step->other_seconds) || !is_positive(measured)) continue;
    factors.push_back(measured / step->other_seconds);
  }
  if (!factors.empty()) calibration_.other = geometric_mean(factors);
}

/// Where nothing overlaps, transfer is measured by itself; else what is left of the whole step says
/// how much was hidden.
void Predictor::calibrate_transfer() {
  const bool aside = overlaps(case_.strategy);
  std::map<double, std::vector<double>> transfer;
  std::map<double, std::pair<double, double>> hidden;  // what was, and what could be
  for (const EpochLeg& leg : case_.legs) {
    const EpochSample epoch = leg.middle();
    StepInputs in = inputs({leg.at}, leg.batch);
    in.overlap = 1;
    const std::optional<PredictedStep> best = modelled(leg, in);
    if (!best) continue;
    if (aside && is_positive(best->hidden_seconds)) {
      const double wait = (epoch.wait_jitter_seconds + epoch.wait_static_seconds) / leg.steps();
      if (std::isnan(wait)) continue;
      const double lost = epoch.seconds / leg.steps() - best->seconds() - wait;
      auto& [was, could_be] = hidden[beside(leg.at)];
      was += best->hidden_seconds - lost;
      could_be += best->hidden_seconds;
    } else if (is_positive(epoch.transfer_seconds) && is_positive(best->exposed_seconds)) {
      transfer[beside(leg.at)].push_back(epoch.transfer_seconds / leg.steps() /
                                         best->exposed_seconds);
    }
  }
  for (const auto& [ranks, factors] : transfer) {
    calibration_.transfer.set(ranks, geometric_mean(factors));
  }
  calibration_.overlap = unmeasured_overlap();
  for (const auto& [ranks, of] : hidden) calibration_.overlap.set(ranks, of.first / of.second);
}

Forecast Predictor::forecast(const Question& question) const {
  Forecast forecast;
  const double one = case_.one.batch;
  const int ranks = question.at.ranks;
  const double batch = case_.strong ? one / ranks : one;
  if (batch != std::floor(batch)) {
    fail<Unavailable>("global batch {} cannot be split over {} ranks", one, ranks);
  }
  const double images = batch * ranks;
  // Weak scaling gives each rank as many images as the one has.
  const double samples = case_.strong ? case_.one.samples : case_.one.samples * ranks;
  const double steps = std::floor(samples / images);
  if (steps < 1) fail<Unavailable>("{} images are less than one step of {}", samples, images);
  const StepInputs in = inputs(question, batch);
  forecast.step = step_of(case_.strategy, in);
  forecast.wait_seconds = calibration_.jitter * longest_over_mean(in.profile, ranks) +
                          calibration_.static_wait * forecast.step.compute_seconds;
  forecast.step_seconds = forecast.step.seconds() + forecast.wait_seconds;
  if (!is_positive(forecast.step_seconds)) {
    fail<Unavailable>("the measured N would make a step of {} s: they are too noisy",
                      forecast.step_seconds);
  }
  forecast.epoch_seconds = steps * forecast.step_seconds;
  forecast.efficiency = scaling_of(case_.one.middle().seconds, case_.one.samples,
                                   forecast.epoch_seconds, steps * images, ranks)
                            .efficiency;
  const auto curve = curves_.find(algorithm_of(question));
  forecast.curve_measured = question.network.is_measured() && curve != curves_.end() &&
                            curve->second.is_measured(question.at);
  return forecast;
}

std::string Predictor::batch_basis() const {
  if (batches_.empty()) return "computation in proportion to the batch, update and host fixed";
  std::vector<int> ranks;
  for (const ShareOfBatch& share : case_.shares) ranks.push_back(share.ranks);
  return fmt::format("computation by measured shares of a batch (1/{})", fmt::join(ranks, ", 1/"));
}

void ErrorsLeftOut::add(const ErrorsLeftOut& others) {
  errors.insert(errors.end(), others.errors.begin(), others.errors.end());
  degrees += others.degrees;
}

double ErrorsLeftOut::reach() const {
  if (degrees == 0) return std::nan("");
  const double squares = std::inner_product(errors.begin(), errors.end(), errors.begin(), 0.0);
  return student_t_quantile(0.025, static_cast<double>(degrees)) *
         std::sqrt(squares / static_cast<double>(errors.size()));
}

ErrorsLeftOut left_out(const PredictionCase& of) {
  ErrorsLeftOut found;
  if (of.legs.size() < 2) return found;
  for (const EpochLeg& leg : of.legs) {
    try {
      const Predictor others(without(of, leg.at.ranks));
      // Whatever could not be calibrated says nothing of how good calibrated predictions are.
      if (others.calibration().ranks.empty()) continue;
      const double measured = leg.middle().seconds / leg.steps();
      found.errors.push_back(std::log(others.forecast({leg.at}).step_seconds / measured));
    } catch (const Unavailable&) {
      continue;  // the check's row of that N says why
    }
  }
  found.degrees = found.errors.empty() ? 0 : found.errors.size() - 1;
  return found;
}

}  // namespace scalebench
