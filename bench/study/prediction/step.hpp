// SPDX-License-Identifier: Apache-2.0
// What predictions are made of: how long an allreduce of any size takes on any number of ranks,
// from a measured curve; one training step of a single rank (what each layer costs and how many
// gradients it makes), and what that becomes with other batches and beside other ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/study/fit/fit.hpp"
#include "bench/study/simulation/simulation.hpp"
#include "models/step/traced_step.hpp"

namespace scalebench {

struct RankLayout {
  int ranks = 1;
  int nodes = 1;

  double per_node() const { return static_cast<double>(ranks) / nodes; }
  auto operator<=>(const RankLayout&) const = default;
};

/// The measured network, or what it might be instead.
struct AssumedNetwork {
  std::optional<double> bytes_per_second{};  // of a link, instead of the measured rate
  std::optional<double> seconds_a_step{};    // there, instead of the measured alpha
  SimulatedNetwork* topology = nullptr;      // of switches between such links; has both of them
  SimulatedLink within{};                    // there, between ranks of a node

  bool is_measured() const { return !bytes_per_second; }
};

struct CurvePoint {
  RankLayout at;
  double size_bytes = 0;
  double seconds = 0;
};

/// How an allreduce goes, as far as its work depends on it.
struct AllreduceWay {
  std::string algorithm;
  std::string transport{};
  bool on_device = false;
};

/// Monotone between measured sizes where that N was measured; elsewhere the cost model of fit.hpp
/// with what the algorithm's own line says, times how far the measured curves lie off it at that
/// size.
class AllreduceCurve {
 public:
  /// `points` of that algorithm over that transport. Ranks of one node and of several have a model
  /// each. `on_one_machine`: the nodes are emulated. Ranks that share cores and memory slow each
  /// other down with every further one, which no model of links holds: how far the measured N lie
  /// off it goes on in ln(N), by the median over sizes.
  AllreduceCurve(AllreduceWay way, const std::vector<CurvePoint>& points,
                 bool on_one_machine = false);

  /// Throws Unavailable, with the reason, where nothing measured says it.
  double seconds(double size_bytes, const RankLayout& at, const AssumedNetwork& network = {}) const;

  /// The model for ranks of one node or of several; nothing: too few points of that kind.
  const std::optional<AllreduceFit>& fit(bool one_node) const { return side(one_node).fit; }
  bool is_measured(const RankLayout& at) const;
  /// Whether the algorithm's line says what it does; else its library decides.
  bool work_is_known() const;

 private:
  /// What was measured on one layout, by size.
  struct Shape {
    RankLayout at;
    std::vector<double> log_size{};
    std::vector<double> seconds{};  // never falls
    std::vector<double> log_off{};  // of seconds over the model's; over 1 s without a model
  };
  struct Side {
    std::optional<AllreduceFit> fit{};
    std::vector<Shape> shapes{};
    double slope = 0;  // of log_off, with ln(N)
  };

  const Side& side(bool one_node) const { return one_node ? one_node_ : nodes_; }
  Side side_of(const std::vector<CurvePoint>& points) const;
  double modelled(const Side& side, double size_bytes, const RankLayout& at) const;
  double measured_seconds(const Side& side, const Shape& shape, double size_bytes) const;
  double network_seconds(double size_bytes, const RankLayout& at,
                         const AssumedNetwork& network) const;
  static double slope_of(const std::vector<Shape>& shapes);
  double off(const Side& side, double size_bytes, int ranks) const;

  /// Bytes and steps of the busiest rank, for buffers of floats.
  AllreduceWork work(double size_bytes, const RankLayout& at) const;

  AllreduceWay way_;
  Side one_node_;
  Side nodes_;
};

/// Every part of it, and each step, times `factor`.
StepProfile stretched(StepProfile profile, double factor);

/// A whole step of one rank with that many images, in units of a step with the profiled batch.
struct BatchSeconds {
  double batch = 0;
  double relative = 1;
};

/// The profile with `batch` images. A step is a fixed part and one for each image, fitted to
/// `measured` and the profile itself; without any, the update and the host are the fixed part.
/// Images take their part of loading, forward and backward pass. Requires batch > 0.
StepProfile with_batch(const StepProfile& profile, double batch,
                       std::span<const BatchSeconds> measured);

/// Mean of the longest of `ranks` independent draws from `samples`: sum over the sorted samples of
/// x_i ((i/n)^ranks - ((i-1)/n)^ranks). NaN without any.
double expected_longest(std::vector<double> samples, double ranks);

// One step of N ranks from one step of a single rank and the time of an allreduce: what each
// gradient synchronisation sends when, and what of it the backward pass hides. Sources: the
// recurrence of MG-WFBP (Shi, Chu, Li, INFOCOM 2019), and Zhang et al. 2020 (arXiv 2006.10103).

/// What a strategy may be told: the defaults of bench_epoch, by which studies train.
struct StrategyChoices {
  double bucket_bytes = 25.0 * (1 << 20);
  double fusion_bytes = 128.0 * (1 << 20);
  double cycle_seconds = 1e-3;
};

struct StepInputs {
  StepProfile profile;  // of a rank with its batch
  RankLayout at;
  std::function<double(double bytes)> allreduce_seconds;
  StrategyChoices choices{};
  /// Of communication beside the backward pass, the share that does not hold that up: 0 where the
  /// core that computes carries it.
  double overlap = 1;
};

struct PredictedStep {
  double compute_seconds = 0;  // forward, backward, update
  double exposed_seconds = 0;  // communication that nothing hides
  double hidden_seconds = 0;   // under the backward pass
  double other_seconds = 0;    // loading, host

  double seconds() const { return compute_seconds + exposed_seconds + other_seconds; }
};

/// Whether there is a formula for it; whether it communicates beside the backward pass.
bool has_formula(std::string_view strategy);
bool overlaps(std::string_view strategy);

/// What carries the gradients: an allreduce, whichever it is; the two halves of one, apart, within
/// nodes first or not.
enum class Carrier { any_allreduce, halves, halves_within_nodes_first };
Carrier carrier_of(std::string_view strategy);

/// Requires a formula.
PredictedStep step_of(std::string_view strategy, const StepInputs& inputs);

/// Elements of each bucket and when the last of its gradients is there, from the beginning of the
/// backward pass: a bucket ends with the parameter that makes it `bucket_bytes` long, the first one
/// at 1 MiB, from the last parameter to the first.
struct Bucket {
  double elements = 0;
  double ready_seconds = 0;
};
std::vector<Bucket> buckets_of(const StepProfile& profile, double bucket_bytes);

}  // namespace scalebench
