// SPDX-License-Identifier: Apache-2.0
// From what a run measured of one strategy to its step and epoch on any N: the profile of one rank
// with the measured length of its epoch, the allreduce curve, and what the measured N > 1 tell of
// how ranks disturb each other. Values in, values out; what must not be known is not handed in.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "bench/study/analysis/scaling.hpp"
#include "bench/study/prediction/step.hpp"

namespace scalebench {

/// An epoch of one launch. NaN in a state: not recorded.
struct EpochSample {
  double seconds = 0;
  double compute_seconds = 0;  // and the other states: mean over ranks
  double transfer_seconds = 0;
  double wait_static_seconds = 0;
  double wait_jitter_seconds = 0;
  double other_seconds = 0;  // input, evaluation, host
};

/// One strategy on one N.
struct EpochLeg {
  RankLayout at;
  double batch = 0;    // of a rank
  double samples = 0;  // of an epoch
  std::vector<EpochSample> launches{};

  double steps() const { return samples / (batch * at.ranks); }
  EpochSample middle() const;  // of each number the median over launches
};

/// A step of one rank alone with the batch of one of `ranks`.
struct ShareOfBatch {
  int ranks = 1;
  BatchSeconds step;
};

/// What is predicted together: one strategy, in one scaling, with all that was measured of it.
struct PredictionCase {
  std::string strategy;
  bool strong = true;
  bool on_compute_core = false;         // communication is work of the core that computes
  bool on_one_machine = false;          // the nodes are emulated: all ranks share its cores
  EpochLeg one{};                       // one_device on one rank: what H is
  std::vector<EpochLeg> legs{};         // N > 1, ascending
  std::vector<ShareOfBatch> shares{};   // strong scaling
  std::vector<StepProfile> profiles{};  // a launch each; the shape of a step, not its length
  std::string algorithm{};              // that the gradients travel by
  std::string transport{};              // that they travel over
  bool on_device = false;               // they lie there
  /// By algorithm, medians over launches.
  std::map<std::string, std::vector<CurvePoint>, std::less<>> curves{};
};

/// What ranks beside each other do to something, by how many they are: a factor that is 1 for a
/// rank by itself. Between measured numbers straight; beyond the largest along the line in ln(N)
/// through all of them and (1, 1): a factor that has grown with every measured N is not known to
/// stop there, and to say so would make every prediction too fast.
class Beside {
 public:
  explicit Beside(double unmeasured = 1) : unmeasured_(unmeasured) {}

  void set(double ranks, double factor) { measured_[ranks] = factor; }
  const std::map<double, double>& measured() const { return measured_; }
  double at(double ranks) const;
  /// The same for what multiplies a time: a factor that falls goes on falling by the same share for
  /// each doubling, since a line would lead below 0. So two noisy epochs say nothing absurd of more
  /// ranks.
  double of_time_at(double ranks) const;

 private:
  double slope() const;
  std::map<double, double> measured_{};
  double unmeasured_;
};

/// How the measured N > 1 differ from what one rank and the curve say; 1 where nothing is known.
struct Calibration {
  std::vector<int> ranks{};  // that it is from
  Beside contention{};       // compute beside others over alone
  Beside transfer{};         // in a step over alone
  Beside overlap{};          // share of what could be hidden that is; below 0: it costs more
  double other = 1;          // loading and host on several ranks over on one
  double jitter = 1;         // waiting over that of independent ranks
  double static_wait = 0;    // waiting for slower ranks, over compute
};

/// A question: how many ranks, and what would be different from the run.
struct Question {
  RankLayout at;
  AssumedNetwork network{};
  std::string algorithm{};  // empty: the case's
};

struct Forecast {
  PredictedStep step;  // without waiting
  double wait_seconds = 0;
  double step_seconds = 0;
  double epoch_seconds = 0;
  double efficiency = 0;
  bool curve_measured = false;  // on that very N
};

/// The case without all that was measured on that N and, where others are left, its curves.
PredictionCase without(PredictionCase of, int ranks);

/// A case ready to be asked.
class Predictor {
 public:
  /// Requires a profile and launches of one rank.
  explicit Predictor(PredictionCase of);

  /// Throws Unavailable, with the reason, for what cannot be predicted.
  Forecast forecast(const Question& question) const;
  const Calibration& calibration() const { return calibration_; }
  /// Of those on as many ranks beside each other as that layout has.
  double contention(const RankLayout& at) const {
    return calibration_.contention.of_time_at(beside(at));
  }
  double transfer(const RankLayout& at) const {
    return calibration_.transfer.of_time_at(beside(at));
  }
  double overlap(const RankLayout& at) const;
  /// Between ranks of a node, as measured; without a rate where it was not.
  SimulatedLink within_a_node() const;
  /// What computing a part of the batch is taken from in strong scaling, in words.
  std::string batch_basis() const;

 private:
  StepInputs inputs(const Question& question, double batch) const;
  /// Of the step, by `in`; nothing where that leg cannot be modelled or has no states.
  std::optional<PredictedStep> modelled(const EpochLeg& leg, const StepInputs& in) const;
  const std::string& algorithm_of(const Question& question) const;
  const AllreduceCurve& curve_of(std::string_view algorithm) const;
  double beside(const RankLayout& at) const;
  void calibrate();
  Beside unmeasured_overlap() const;
  void calibrate_other();
  void calibrate_transfer();
  double longest_over_mean(const StepProfile& profile, int ranks) const;

  PredictionCase case_;
  StepProfile profile_;
  std::vector<BatchSeconds> batches_;
  std::map<std::string, AllreduceCurve, std::less<>> curves_;
  Calibration calibration_;
};

// How far a prediction may be off: each measured N is predicted without anything measured on it,
// and what is wrong then is the band. These errors hold the noise of the measurement and the
// model's.

/// ln(predicted / measured) of the steps of each N, predicted from one rank and the other N.
struct ErrorsLeftOut {
  std::vector<double> errors{};
  std::size_t degrees = 0;  // of freedom: one less than errors in each case they are from

  /// 95 % of further errors lie that far from 0, by Student's t: each was predicted from the others
  /// of its case, which costs a degree of freedom. NaN without any.
  double reach() const;
  /// Those of another case: in one run the model's relative errors are taken to be of one size.
  void add(const ErrorsLeftOut& others);
};

/// Of every N of the case that can be predicted from the others; none where there is one N.
ErrorsLeftOut left_out(const PredictionCase& of);

}  // namespace scalebench
