// SPDX-License-Identifier: Apache-2.0
#include "bench/training/epoch/recording.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "bench/measure/statistics.hpp"
#include "bench/record/file.hpp"
#include "kernels/error.hpp"
#include "models/trainer.hpp"

namespace scalebench {

TimedStep LayerClock::step(std::size_t layers) const {
  const auto is_end = [](const Mark& mark) {
    return mark.kind == Mark::Kind::phase && mark.value == static_cast<std::size_t>(Phase::other);
  };
  const auto first = std::ranges::find(marks_, Mark::Kind::step, &Mark::kind);
  const auto last = std::find_if(first, marks_.end(), is_end);
  if (last == marks_.end()) fail("a step that has not ended has no duration");
  TimedStep times;
  times.begin = first->at;
  times.end = last->at;
  times.forward.resize(layers);
  times.backward.resize(layers);
  Phase phase = Phase::other;
  std::size_t layer = 0;  // the last one that was done
  for (auto from = first; from != last; ++from) {
    const Mark& to = *std::next(from);
    if (from->kind == Mark::Kind::phase) phase = static_cast<Phase>(from->value);
    const bool marked = to.kind == Mark::Kind::forward || to.kind == Mark::Kind::gradient;
    if (marked) layer = to.value;
    double& into = phase == Phase::load                     ? times.load
                   : phase == Phase::update                 ? times.update
                   : layers > 0 && phase == Phase::forward  ? times.forward.at(layer)
                   : layers > 0 && phase == Phase::backward ? times.backward.at(layer)
                                                            : times.host;
    into += to.at - from->at;
  }
  return times;
}

namespace {

constexpr int kStepsBeforeRecording = 3;
constexpr int kSteps = 30;
constexpr int kFewestSteps = 5;
constexpr double kEnoughSeconds = 2;

/// Of the same value in every step.
template <class Value>
double median_over(const std::vector<TimedStep>& steps, Value value) {
  std::vector<double> values;
  for (const TimedStep& step : steps) values.push_back(value(step));
  return median_of(values);
}

double step_seconds(const TimedStep& step) { return step.end - step.begin; }

}  // namespace

void check_recording(const TrainerOptions& trainer, int ranks) {
  const auto refuse = [](const std::string& what, std::string_view valid) {
    fail<UsageError>("--record-trace: {}; expected {}", what, valid);
  };
  if (ranks != 1) refuse(fmt::format("{} ranks", ranks), "one rank, whose steps nobody holds up");
  if (is_recorded(trainer.step, trainer.device == ComputeDevice::cuda))
    refuse("a step graph", "layers that are launched one by one");
  if (trainer.gradient_sync == "model_split") {
    refuse("gradient sync model_split", "one that runs the whole network at once");
  }
  if (trainer.accumulate != 1) refuse("accumulated passes", "one pass a step");
}

StepRecording record_steps(const Ranks& ranks, Communicator& gradients,
                           const TrainerOptions& options) {
  LayerClock clock;
  Trainer trainer(options, gradients, ranks.host, clock);
  for (int i = 0; i < kStepsBeforeRecording; ++i) trainer.train_step();
  StepRecording recording;
  StepProfile& trace = recording.trace;
  trace.layers = trainer.layers();
  std::vector<TimedStep> steps;
  std::vector<double> unmarked;
  const double begin = local_seconds();
  const auto enough = [&] {
    const int done = static_cast<int>(steps.size());
    return done >= kSteps || (done >= kFewestSteps && local_seconds() - begin >= kEnoughSeconds);
  };
  while (!enough()) {
    clock.forget();
    trainer.train_step();
    unmarked.push_back(step_seconds(clock.step(0)));
    clock.forget();
    trainer.trace_layers(&clock);
    trainer.train_step();
    trainer.trace_layers(nullptr);
    steps.push_back(clock.step(trace.layers.size()));
  }
  trace.batch = trainer.options().batch;
  for (std::size_t i = 0; i < trace.layers.size(); ++i) {
    TracedLayer& layer = trace.layers[i];
    layer.forward_seconds = median_over(steps, [i](const auto& step) { return step.forward[i]; });
    layer.backward_seconds = median_over(steps, [i](const auto& step) { return step.backward[i]; });
  }
  trace.load_seconds = median_over(steps, [](const auto& step) { return step.load; });
  trace.update_seconds = median_over(steps, [](const auto& step) { return step.update; });
  trace.host_seconds = median_over(steps, [](const auto& step) { return step.host; });
  for (const TimedStep& step : steps) trace.step_seconds.push_back(step_seconds(step));
  recording.cost_of_marks = median_of(trace.step_seconds) / median_of(unmarked) - 1;
  return recording;
}

namespace {

std::filesystem::path trace_file(const EpochOptions& options) {
  const std::filesystem::path file = options.record_trace;
  const std::string& out = options.training.record.out;
  return file.has_parent_path() || out.empty() ? file : out / file;
}

}  // namespace

void require_trace_file(const EpochOptions& options) {
  if (options.record_trace.empty()) return;
  const std::filesystem::path file = trace_file(options);
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored)) {
    fail<UsageError>("--record-trace {}: is a folder; expected a file", file.string());
  }
  std::filesystem::path trial = file;  // of a name that is nobody's
  trial += ".trial";
  try {
    write_file_atomically(trial, "");
  } catch (const Error& error) {
    fail<UsageError>("--record-trace {}: {}", file.string(), error.what());
  }
  std::filesystem::remove(trial, ignored);
}

void record_trace(const Ranks& ranks, Communicator& gradients, const EpochOptions& options,
                  Console& console) {
  const StepRecording recording = record_steps(ranks, gradients, options.training.trainer);
  const std::filesystem::path file = trace_file(options);
  write_file_atomically(file, json_of(recording.trace));
  const StepProfile& trace = recording.trace;
  console.note(fmt::format("{}: {} steps of {} images, median {:.6f} s; marks cost {:+.2f} %",
                           file.string(), trace.step_seconds.size(), trace.batch,
                           median_of(trace.step_seconds), 100 * recording.cost_of_marks));
}

}  // namespace scalebench
