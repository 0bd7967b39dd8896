// SPDX-License-Identifier: Apache-2.0
#include "bench/study/prediction/curve.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

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

AllreduceCurve::AllreduceCurve(std::string algorithm, const std::vector<CurvePoint>& points,
                               WorkOf work_of)
    : algorithm_(std::move(algorithm)), work_of_(std::move(work_of)) {
  std::vector<CurvePoint> inside, between;
  for (const CurvePoint& point : points) (point.at.nodes > 1 ? between : inside).push_back(point);
  one_node_ = side_of(inside);
  nodes_ = side_of(between);
}

AllreduceCurve::Side AllreduceCurve::side_of(const std::vector<CurvePoint>& points) const {
  Side side;
  std::vector<CurvePoint> sorted = points;
  std::ranges::sort(sorted, {}, [](const CurvePoint& p) { return std::pair(p.at, p.size_bytes); });
  std::vector<MeasuredWork> work;
  for (const CurvePoint& point : sorted) {
    work.push_back({work_of_(point.size_bytes, point.at), point.size_bytes, point.seconds});
  }
  side.fit = fit_of(work);
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
  return side.fit ? predicted_seconds(*side.fit, work_of_(size_bytes, at), size_bytes) : 1;
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
                      algorithm_, size_bytes);
  }
  const double seconds = modelled(side, size_bytes, shape.at) *
                         std::exp(interpolated(shape.log_size, shape.log_off, log_size));
  if (!inside) return seconds;
  const auto after = std::ranges::lower_bound(shape.log_size, log_size) - shape.log_size.begin();
  const auto i = static_cast<std::size_t>(after);
  return std::clamp(seconds, shape.seconds[i == 0 ? 0 : i - 1], shape.seconds[i]);
}

double AllreduceCurve::off(const Side& side, double size_bytes) const {
  double sum = 0;
  for (const Shape& shape : side.shapes) {
    sum += interpolated(shape.log_size, shape.log_off, std::log(size_bytes));
  }
  return std::exp(sum / static_cast<double>(side.shapes.size()));
}

double AllreduceCurve::network_seconds(double size_bytes, const RankLayout& at,
                                       const AssumedNetwork& network) const {
  const bool several = at.nodes > 1 && nodes_.fit;
  const Side& from = several ? nodes_ : one_node_;
  const AllreduceWork work = work_of_(size_bytes, at);
  if (!from.fit || !is_known(work)) {
    fail<Unavailable>("{}: no model that another network could be put into", algorithm_);
  }
  const AllreduceFit& fit = *from.fit;
  const double alpha = network.seconds_a_step.value_or(fit.alpha_seconds);
  const double reducing = fit.gamma_seconds_per_byte.value_or(0) * work.reduced_bytes;
  if (!network.bytes_per_second) {
    const double beta = fit.beta_seconds_per_byte / network.faster;
    return (alpha * work.steps + beta * work.sent_bytes + reducing) * off(from, size_bytes);
  }
  const double g = at.per_node(), m = at.nodes;
  if (g == 1 || algorithm_ == "ring" || algorithm_ == "segmented_ring") {
    // Of the ranks of a node one sends to the next node.
    return alpha * work.steps + work.sent_bytes / *network.bytes_per_second + reducing;
  }
  if (algorithm_ != "hierarchical" || !one_node_.fit) {
    fail<Unavailable>("{}: what {} ranks a node do to their common link is not modelled",
                      algorithm_, g);
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
    fail<Unavailable>("{}: no curve {} was measured that a model could be fitted to", algorithm_,
                      at.nodes == 1 ? "within a node" : "between nodes (--link says their rate)");
  }
  if (!is_known(work_of_(size_bytes, at))) {
    fail<Unavailable>("{}: what the library does on {} ranks is unknown", algorithm_, at.ranks);
  }
  return modelled(from, size_bytes, at) * off(from, size_bytes);
}

}  // namespace scalebench
