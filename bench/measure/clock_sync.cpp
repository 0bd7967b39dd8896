// SPDX-License-Identifier: Apache-2.0
#include "bench/measure/clock_sync.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <limits>
#include <thread>
#include <utility>
#include <vector>

#include "bench/measure/statistics.hpp"
#include "collectives/control.hpp"

namespace scalebench {
namespace {

double weight_of(const ClockPoint& point) {
  const double uncertainty = std::max(point.half_round, 1e-9);
  return 1 / (uncertainty * uncertainty);
}

}  // namespace

ClockModel fit_clock(std::span<const ClockPoint> points, double horizon) {
  ClockModel model;
  double weights = 0;
  double half_round =
      0;  // a path slower one way than back hides in here, and no statistic shows it
  for (const ClockPoint& point : points) weights += weight_of(point);
  for (const ClockPoint& point : points) {
    const double share = weight_of(point) / weights;
    model.anchor += share * point.local;
    model.offset += share * point.offset;
    half_round += share * point.half_round;
  }
  double spread = 0;
  double joint = 0;
  for (const ClockPoint& point : points) {
    const double x = point.local - model.anchor;
    spread += weight_of(point) * x * x;
    joint += weight_of(point) * x * (point.offset - model.offset);
  }
  model.residual = model.at_anchor = half_round;
  if (points.size() < 3 || spread <= 0) return model;

  model.slope = joint / spread;
  double scatter = 0;
  for (const ClockPoint& point : points) {
    const double off = point.offset - model.offset - model.slope * (point.local - model.anchor);
    scatter += weight_of(point) * off * off;
  }
  scatter /= static_cast<double>(points.size() - 2);
  model.at_anchor += 2 * std::sqrt(scatter / weights);
  model.slope_error = 2 * std::sqrt(scatter / spread);
  // Two standard errors of the line where it is used furthest from its points.
  const double reach = points.back().local + horizon - model.anchor;
  model.residual += 2 * std::sqrt(scatter * (1 / weights + reach * reach / spread));
  return model;
}

ClockBridge::ClockBridge(const ClockModel& before, const ClockModel& after)
    : anchor_(before.anchor), offset_(before.offset) {
  const double seconds = after.anchor - before.anchor;
  if (seconds == 0) return;  // this rank's clock is the common one
  slope_ = (after.offset - before.offset) / seconds;
  // How far the drift at either end is from the mean one, at most. Between the ends it went from
  // one to the other, at once or slowly: then the line is off by at most a quarter of the sum over
  // the whole time, as much as that where it turned at half time.
  const double unsure = before.slope_error + after.slope_error;
  const double turn = std::abs(before.slope - slope_) + std::abs(after.slope - slope_) + unsure;
  residual_ = std::max(before.at_anchor, after.at_anchor) + turn * seconds / 4;
}

namespace {

constexpr int kPoints = 20;
constexpr int kPingPongs = 10;  // per point, which is the fastest of them
// A drift needs a stretch of time to show: a long one at first, later the calls lie apart anyway.
constexpr double kSpacing = 0.001;
constexpr std::size_t kRemembered = 10UL * kPoints;
constexpr double kHorizon = 1;  // seconds in which the residual holds

struct Answer {
  double now = 0;
  double residual = 0;
  double slope_error = 0;
};

/// What the rank that asks sees of one question: when, the answer, how far off that may be.
class Questions {
 public:
  Questions(Communicator& host, int reference) : host_(host), reference_(reference) {}

  ClockPoint fastest_of(int count, const std::function<double()>& local) {
    ClockPoint best{0, 0, std::numeric_limits<double>::infinity()};
    for (int i = 0; i < count; ++i) {
      const double sent = local();
      host_.exchange(question_, reference_, answer_.part(0, 0), reference_);
      host_.exchange(question_.part(0, 0), reference_, answer_, reference_);
      const double received = local();
      const double middle = (sent + received) / 2;
      const double half_round = (received - sent) / 2;
      if (half_round < best.half_round) best = {middle, values_[0] - middle, half_round};
    }
    return best;
  }
  double residual_of_reference() const { return values_[1]; }
  double slope_error_of_reference() const { return values_[2]; }

 private:
  Communicator& host_;
  const int reference_;
  std::array<double, 3> values_{};
  const Span answer_ = span_of(std::span<double>(values_));
  double nothing_ = 0;
  const Span question_ = span_of(std::span(&nothing_, 1));
};

/// The other side of Questions.
void answer(Communicator& host, int asker, const std::function<Answer()>& look) {
  double nothing = 0;
  const Span question = span_of(std::span(&nothing, 1));
  std::array<double, 3> values{};
  const Span reply = span_of(std::span<double>(values));
  for (int i = 0; i < kPoints * kPingPongs; ++i) {
    host.exchange(reply.part(0, 0), asker, question, asker);
    const Answer seen = look();
    values = {seen.now, seen.residual, seen.slope_error};
    host.exchange(reply, asker, question.part(0, 0), asker);
  }
}

}  // namespace

GlobalClock::GlobalClock(Communicator& host, std::function<double()> local, double span)
    : host_(host), local_(std::move(local)), span_(span) {
  const std::vector<int> nodes = host.topology().node_of_rank;
  for (std::size_t rank = 0; rank < nodes.size(); ++rank) {
    const auto first = std::ranges::find(nodes, nodes[rank]) - nodes.begin();
    if (first == static_cast<std::ptrdiff_t>(rank)) leaders_.push_back(static_cast<int>(rank));
    if (static_cast<int>(rank) == host.rank()) leader_ = static_cast<int>(first);
  }
  synchronise();
}

void GlobalClock::synchronise() {
  if (leaders_.size() <= 1) return;
  if (host_.rank() == leader_) follow_other_hosts();
  const std::array<double, 6> mine{model_.anchor,   model_.offset,    model_.slope,
                                   model_.residual, model_.at_anchor, model_.slope_error};
  const std::vector<double> all = all_gather(host_, mine);
  const double* leaders = &all[mine.size() * static_cast<std::size_t>(leader_)];
  model_ = {leaders[0], leaders[1], leaders[2], leaders[3], leaders[4], leaders[5]};
  residual_ = 0;
  for (std::size_t i = 3; i < all.size(); i += mine.size()) residual_ = std::max(residual_, all[i]);
  synchronised_ = local_();
}

bool GlobalClock::keep_up() {
  if (leaders_.size() <= 1) return false;
  double age = local_() - synchronised_;
  broadcast(host_, span_of(std::span(&age, 1)), 0);
  if (age < kHorizon / 2) return false;
  synchronise();
  return true;
}

void GlobalClock::follow_other_hosts() {
  const std::size_t hosts = leaders_.size();
  const auto mine =
      static_cast<std::size_t>(std::ranges::find(leaders_, host_.rank()) - leaders_.begin());
  // Host h learns from the host a power of two below, which has learnt in an earlier round.
  for (std::size_t distance = 1; distance < hosts; distance *= 2) {
    if (mine < distance && mine + distance < hosts) {
      answer(host_, leaders_[mine + distance], [&] {
        return Answer{now(), model_.residual, model_.slope_error};
      });
    } else if (mine >= distance && mine < 2 * distance) {
      learn_from(leaders_[mine - distance]);
    }
  }
}

void GlobalClock::learn_from(int reference) {
  Questions questions(host_, reference);
  const double spacing = points_.empty() ? span_ / kPoints : kSpacing;
  double next = local_();
  for (int i = 0; i < kPoints; ++i, next += spacing) {
    while (local_() < next) std::this_thread::yield();
    points_.push_back(questions.fastest_of(kPingPongs, local_));
  }
  if (points_.size() > kRemembered) points_.erase(points_.begin(), points_.end() - kRemembered);
  // A host that has learnt answers in all rounds that follow.
  const auto rounds = static_cast<double>(std::bit_width(leaders_.size() - 1));
  model_ = fit_clock(points_, std::max(kHorizon, rounds * span_));
  model_.residual += questions.residual_of_reference();
  model_.at_anchor += questions.residual_of_reference();
  model_.slope_error += questions.slope_error_of_reference();
}

}  // namespace scalebench
