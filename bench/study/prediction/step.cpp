// SPDX-License-Identifier: Apache-2.0
#include "bench/study/prediction/step.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "bench/measure/statistics.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

/// Straight between the points, level outside. `x` ascends.
double interpolated(std::span<const double> x, std::span<const double> y, double at) {
  const auto after = std::ranges::upper_bound(x, at);
  if (after == x.begin()) return y.front();
  if (after == x.end()) return y.back();
  const auto i = static_cast<std::size_t>(after - x.begin());
  return y[i - 1] + (y[i] - y[i - 1]) * (at - x[i - 1]) / (x[i] - x[i - 1]);
}

bool is_known(const AllreduceWork& work) {
  return !std::isnan(work.steps + work.sent_bytes + work.reduced_bytes);
}

}  // namespace

AllreduceCurve::AllreduceCurve(AllreduceWay way, const std::vector<CurvePoint>& points,
                               bool on_one_machine)
    : way_(std::move(way)) {
  std::vector<CurvePoint> inside, between;
  for (const CurvePoint& point : points) (point.at.nodes > 1 ? between : inside).push_back(point);
  one_node_ = side_of(inside);
  nodes_ = side_of(between);
  one_node_.slope = slope_of(one_node_.shapes);
  if (on_one_machine) nodes_.slope = slope_of(nodes_.shapes);
}

AllreduceWork AllreduceCurve::work(double size_bytes, const RankLayout& at) const {
  constexpr double kFloatBytes = 4;
  return work_of({.algorithm = way_.algorithm,
                  .transport = way_.transport,
                  .on_device = way_.on_device,
                  .ranks = static_cast<double>(at.ranks),
                  .ranks_on_node = at.per_node(),
                  .count = size_bytes / kFloatBytes,
                  .element_bytes = kFloatBytes});
}

bool AllreduceCurve::work_is_known() const { return is_known(work(1, {2, 1})); }

double AllreduceCurve::slope_of(const std::vector<Shape>& shapes) {
  if (shapes.size() < 2) return 0;
  std::vector<double> slopes;
  const Shape& least = shapes.front();
  for (std::size_t i = 0; i < least.log_size.size(); ++i) {
    double x = 0, y = 0, xx = 0, xy = 0;  // from the smallest N
    for (const Shape& shape : shapes) {
      const double more = std::log(static_cast<double>(shape.at.ranks) / least.at.ranks);
      const double off = interpolated(shape.log_size, shape.log_off, least.log_size[i]);
      x += more, y += off, xx += more * more, xy += more * off;
    }
    const auto n = static_cast<double>(shapes.size());
    if (n * xx > x * x) slopes.push_back((n * xy - x * y) / (n * xx - x * x));
  }
  // On the same cores N times as many ranks take at most N times as long.
  return slopes.empty() ? 0 : std::clamp(median_of(slopes), -1.0, 1.0);
}

AllreduceCurve::Side AllreduceCurve::side_of(const std::vector<CurvePoint>& points) const {
  Side side;
  std::vector<CurvePoint> sorted = points;
  std::ranges::sort(sorted, {}, [](const CurvePoint& p) { return std::pair(p.at, p.size_bytes); });
  std::vector<MeasuredWork> measured;
  for (const CurvePoint& point : sorted) {
    measured.push_back({work(point.size_bytes, point.at), point.size_bytes, point.seconds});
  }
  side.fit = fit_of(measured);
  for (const CurvePoint& point : sorted) {
    if (side.shapes.empty() || side.shapes.back().at != point.at) side.shapes.push_back({point.at});
    Shape& shape = side.shapes.back();
    const double before = shape.seconds.empty() ? 0 : shape.seconds.back();
    shape.log_size.push_back(std::log(point.size_bytes));
    shape.seconds.push_back(std::max(before, point.seconds));
    shape.log_off.push_back(
        std::log(shape.seconds.back() / modelled(side, point.size_bytes, point.at)));
  }
  return side;
}

double AllreduceCurve::modelled(const Side& side, double size_bytes, const RankLayout& at) const {
  return side.fit ? predicted_seconds(*side.fit, work(size_bytes, at), size_bytes) : 1;
}

bool AllreduceCurve::is_measured(const RankLayout& at) const {
  const Side& of = side(at.nodes == 1);
  return std::ranges::find(of.shapes, at, &Shape::at) != of.shapes.end();
}

double AllreduceCurve::measured_seconds(const Side& side, const Shape& shape,
                                        double size_bytes) const {
  const double log_size = std::log(size_bytes);
  const bool inside = log_size >= shape.log_size.front() && log_size <= shape.log_size.back();
  if (!inside && !side.fit) {
    fail<Unavailable>("{}: {:.0f} bytes are outside the measured sizes, which are too few to fit",
                      way_.algorithm, size_bytes);
  }
  const double seconds = modelled(side, size_bytes, shape.at) *
                         std::exp(interpolated(shape.log_size, shape.log_off, log_size));
  if (!inside) return seconds;
  const auto after = std::ranges::lower_bound(shape.log_size, log_size) - shape.log_size.begin();
  const auto i = static_cast<std::size_t>(after);
  return std::clamp(seconds, shape.seconds[i == 0 ? 0 : i - 1], shape.seconds[i]);
}

double AllreduceCurve::off(const Side& side, double size_bytes, int ranks) const {
  double sum = 0;
  for (const Shape& shape : side.shapes) {
    sum += interpolated(shape.log_size, shape.log_off, std::log(size_bytes)) +
           side.slope * std::log(static_cast<double>(ranks) / shape.at.ranks);
  }
  return std::exp(sum / static_cast<double>(side.shapes.size()));
}

double AllreduceCurve::network_seconds(double size_bytes, const RankLayout& at,
                                       const AssumedNetwork& network) const {
  const bool several = at.nodes > 1 && nodes_.fit;
  const Side& from = several ? nodes_ : one_node_;
  const AllreduceWork busiest = work(size_bytes, at);
  if (!from.fit || !is_known(busiest)) {
    fail<Unavailable>("{}: no model that another network could be put into", way_.algorithm);
  }
  const AllreduceFit& fit = *from.fit;
  const double alpha = network.seconds_a_step.value_or(fit.alpha_seconds);
  const double reducing = fit.gamma_seconds_per_byte.value_or(0) * busiest.reduced_bytes;
  if (network.topology != nullptr && at.nodes > 1) {
    const SimulatedLink between{*network.bytes_per_second, alpha};
    const SimulatedAllreduce of{way_.algorithm, at.ranks, at.nodes, between, network.within};
    return network.topology->seconds(of, size_bytes) + reducing;
  }
  const double g = at.per_node(), m = at.nodes;
  if (g == 1 || way_.algorithm == "ring" || way_.algorithm == "segmented_ring") {
    // Of the ranks of a node one sends to the next node.
    return alpha * busiest.steps + busiest.sent_bytes / *network.bytes_per_second + reducing;
  }
  if (way_.algorithm != "hierarchical" || !one_node_.fit) {
    fail<Unavailable>("{}: what {} ranks a node do to their common link is not modelled",
                      way_.algorithm, g);
  }
  const AllreduceFit& local = *one_node_.fit;
  return local.alpha_seconds * 2 * (g - 1) +
         local.beta_seconds_per_byte * 2 * size_bytes * (g - 1) / g + alpha * 2 * (m - 1) +
         2 * size_bytes * (m - 1) / m / *network.bytes_per_second + reducing;
}

double AllreduceCurve::seconds(double size_bytes, const RankLayout& at,
                               const AssumedNetwork& network) const {
  if (at.ranks < 2 || size_bytes <= 0) return 0;
  if (!network.is_measured()) return network_seconds(size_bytes, at, network);
  const Side& from = side(at.nodes == 1);
  const auto shape = std::ranges::find(from.shapes, at, &Shape::at);
  if (shape != from.shapes.end()) return measured_seconds(from, *shape, size_bytes);
  if (!from.fit) {
    fail<Unavailable>("{}: no curve {} was measured that a model could be fitted to",
                      way_.algorithm,
                      at.nodes == 1 ? "within a node" : "between nodes (--link says their rate)");
  }
  if (!is_known(work(size_bytes, at))) {
    fail<Unavailable>("{}: what the library does on {} ranks is unknown", way_.algorithm, at.ranks);
  }
  return modelled(from, size_bytes, at) * off(from, size_bytes, at.ranks);
}

namespace {

/// A step with that many images over one with the profiled batch.
double relative_seconds(const StepProfile& profile, double batch,
                        std::span<const BatchSeconds> measured) {
  std::vector<double> fixed{1}, images{static_cast<double>(profile.batch)};
  for (const BatchSeconds& one : measured) {
    fixed.push_back(1 / one.relative);
    images.push_back(one.batch / one.relative);
  }
  const std::vector<double> target(fixed.size(), 1.0);
  const std::vector<double> x = nonnegative_least_squares({fixed, images}, target);
  return x[0] + x[1] * batch;
}

}  // namespace

StepProfile stretched(StepProfile profile, double factor) {
  for (TracedLayer& layer : profile.layers) {
    layer.forward_seconds *= factor;
    layer.backward_seconds *= factor;
  }
  for (double* seconds : {&profile.load_seconds, &profile.update_seconds, &profile.host_seconds}) {
    *seconds *= factor;
  }
  for (double& seconds : profile.step_seconds) seconds *= factor;
  return profile;
}

StepProfile with_batch(const StepProfile& profile, double batch,
                       std::span<const BatchSeconds> measured) {
  const double whole = profile.seconds();
  const double fixed = profile.update_seconds + profile.host_seconds;
  double factor = batch / static_cast<double>(profile.batch);
  if (!measured.empty() && whole > fixed) {
    const double wanted = whole * relative_seconds(profile, batch, measured);
    factor = std::max(0.0, wanted - fixed) / (whole - fixed);
  }
  StepProfile of_images = stretched(profile, factor);
  of_images.update_seconds = profile.update_seconds;
  of_images.host_seconds = profile.host_seconds;
  of_images.step_seconds = profile.step_seconds;
  for (double& seconds : of_images.step_seconds) seconds *= of_images.seconds() / whole;
  of_images.batch = std::llround(batch);
  return of_images;
}

double expected_longest(std::vector<double> samples, double ranks) {
  if (samples.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::ranges::sort(samples);
  const auto n = static_cast<double>(samples.size());
  double mean = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const auto below = static_cast<double>(i);
    mean += samples[i] * (std::pow((below + 1) / n, ranks) - std::pow(below / n, ranks));
  }
  return mean;
}

namespace {

constexpr double kFirstBucketBytes = 1 << 20;
constexpr double kFloatBytes = 4;

using Formula = PredictedStep (*)(const StepInputs& inputs);

double passes(const StepProfile& profile) {
  return profile.forward_seconds() + profile.backward_seconds();
}

PredictedStep step(const StepInputs& in, double update_seconds, double exposed, double hidden = 0) {
  return {passes(in.profile) + update_seconds, exposed, hidden,
          in.profile.load_seconds + in.profile.host_seconds};
}

/// The last parameter first, as a backward pass makes them, with the time since it began.
std::vector<Bucket> parameters_of(const StepProfile& profile) {
  std::vector<Bucket> parameters;
  double now = 0;
  for (auto layer = profile.layers.rbegin(); layer != profile.layers.rend(); ++layer) {
    now += layer->backward_seconds;
    for (auto count = layer->gradients.rbegin(); count != layer->gradients.rend(); ++count) {
      parameters.push_back({static_cast<double>(*count), now});
    }
  }
  return parameters;
}

/// `end`, `sum`: of communication, which began no earlier than the backward pass.
PredictedStep overlapped(const StepInputs& in, double end, double sum) {
  const double backward = in.profile.backward_seconds();
  const double after = std::max(0.0, end - backward);
  const double hidden = sum - std::min(sum, after);
  return step(in, in.profile.update_seconds, after + (1 - in.overlap) * hidden,
              in.overlap * hidden);
}

PredictedStep fused(const StepInputs& in) {
  return step(in, in.profile.update_seconds,
              in.allreduce_seconds(in.profile.gradients() * kFloatBytes));
}

PredictedStep one_by_one(const StepInputs& in) {
  double seconds = 0;
  for (const Bucket& one : parameters_of(in.profile)) {
    seconds += in.allreduce_seconds(one.elements * kFloatBytes);
  }
  return step(in, in.profile.update_seconds, seconds);
}

PredictedStep bucketed(const StepInputs& in) {
  double end = 0, sum = 0;
  for (const Bucket& bucket : buckets_of(in.profile, in.choices.bucket_bytes)) {
    const double seconds = in.allreduce_seconds(bucket.elements * kFloatBytes);
    end = std::max(bucket.ready_seconds, end) + seconds;
    sum += seconds;
  }
  return overlapped(in, end, sum);
}

/// Cycles begin on a grid whose phase nobody knows: half a cycle after the first gradient.
PredictedStep in_cycles(const StepInputs& in) {
  const std::vector<Bucket> all = parameters_of(in.profile);
  const double cycle = in.choices.cycle_seconds;
  const double negotiation = in.allreduce_seconds(static_cast<double>(all.size()) * kFloatBytes);
  double now = 0, sum = 0, begun = all.empty() ? 0 : all.front().ready_seconds + cycle / 2;
  for (std::size_t next = 0; next < all.size();) {
    now = begun + negotiation;
    sum += negotiation;
    double fused_bytes = 0;
    const auto send = [&] {
      const double seconds = in.allreduce_seconds(fused_bytes);
      now += seconds;
      sum += seconds;
      fused_bytes = 0;
    };
    for (; next < all.size() && all[next].ready_seconds <= begun; ++next) {
      const double bytes = all[next].elements * kFloatBytes;
      if (fused_bytes > 0 && fused_bytes + bytes > in.choices.fusion_bytes) send();
      fused_bytes += bytes;
    }
    if (fused_bytes > 0) send();
    const double waited = cycle > 0 ? std::ceil((now - begun) / cycle) * cycle : now - begun;
    begun += std::max(waited, cycle);
    // A cycle of 0 asks again at once: until the next gradient is there, in vain.
    if (cycle == 0 && next < all.size()) begun = std::max(begun, all[next].ready_seconds);
  }
  return overlapped(in, now, sum);
}

/// Every rank updates its shard: of the update only a part is left.
PredictedStep sharded(const StepInputs& in) {
  return step(in, in.profile.update_seconds / in.at.ranks,
              in.allreduce_seconds(in.profile.gradients() * kFloatBytes));
}

/// What there is a formula for; what carries the gradients, the models' own table does not say.
struct Strategy {
  std::string_view name;
  Formula formula;
  bool overlaps = false;
  Carrier carrier = Carrier::any_allreduce;
};
constexpr auto kStrategies =
    std::to_array<Strategy>({{"mirrored", fused},
                             {"multi_worker", fused},
                             {"naive", one_by_one},
                             {"bucketed_overlap", bucketed, true},
                             {"horovod", in_cycles, true},
                             {"balanced_shards", fused, false, Carrier::halves_within_nodes_first},
                             {"zero1", sharded, false, Carrier::halves}});

const Strategy* formula_of(std::string_view strategy) {
  const auto found = std::ranges::find(kStrategies, strategy, &Strategy::name);
  return found == kStrategies.end() ? nullptr : &*found;
}

}  // namespace

bool has_formula(std::string_view strategy) { return formula_of(strategy) != nullptr; }

bool overlaps(std::string_view strategy) {
  const Strategy* const found = formula_of(strategy);
  return found != nullptr && found->overlaps;
}

Carrier carrier_of(std::string_view strategy) {
  const Strategy* const found = formula_of(strategy);
  return found == nullptr ? Carrier::any_allreduce : found->carrier;
}

PredictedStep step_of(std::string_view strategy, const StepInputs& inputs) {
  return formula_of(strategy)->formula(inputs);
}

std::vector<Bucket> buckets_of(const StepProfile& profile, double bucket_bytes) {
  std::vector<Bucket> buckets;
  Bucket open;
  for (const Bucket& one : parameters_of(profile)) {
    open.elements += one.elements;
    open.ready_seconds = one.ready_seconds;
    const double limit = buckets.empty() ? std::min(kFirstBucketBytes, bucket_bytes) : bucket_bytes;
    if (open.elements * kFloatBytes < limit) continue;
    buckets.push_back(open);
    open = {};
  }
  if (open.elements > 0) buckets.push_back(open);
  return buckets;
}

}  // namespace scalebench
