// SPDX-License-Identifier: Apache-2.0
#include "bench/training/throughput/run.hpp"

#include <fmt/format.h>

#include <utility>

#include "bench/training/joint_failure.hpp"
#include "models/torch/device.hpp"

namespace scalebench {

ThroughputRun::ThroughputRun(const Ranks& ranks, ThroughputOptions options, Recorder& recorder,
                             Console& console)
    : ranks_(ranks), options_(std::move(options)), recorder_(recorder), console_(console) {}

ExitCode ThroughputRun::all_cases() {
  TrainerOptions& trainer = options_.training.trainer;
  if (options_.roofline) {
    console_.note("what the device can do at best: stream and gemm, for about a second");
    std::vector<Precision> precisions;
    for (const StepVariant& way : options_.training.variants) precisions.push_back(way.precision);
    roofline_ = measure_roofline(ranks_, trainer, precisions);
    if (!roofline_.failure.empty()) {
      console_.note(fmt::format("no roofline, and so no mfu: {}", roofline_.failure));
    }
  }
  console_.result(throughput_head(options_, ranks_.session.size(), roofline_));
  for (const StepVariant& way : options_.training.variants) {
    apply(way, trainer);
    too_big_.reset();
    lacking_ = joint_failure(ranks_.host,
                             why_no_step(trainer.precision, trainer.step_graph, trainer.device,
                                         trainer.device_index, trainer.threads));
    for (const std::int64_t batch : options_.batches) one_batch(batch);
  }
  return outcome_.exit_code();
}

void ThroughputRun::one_batch(std::int64_t batch) {
  TrainerOptions& trainer = options_.training.trainer;
  trainer.batch = batch == kLargestBatch ? 0 : batch;
  const MemoryLimit limit(trainer, options_.memory_limit);
  if (!lacking_.empty()) {
    skip(lacking_, batch == kLargestBatch ? std::optional(BatchSearch{}) : std::nullopt);
  } else if (batch == kLargestBatch) {
    largest(limit);
  } else if (too_big_ && batch > *too_big_) {
    skip(fmt::format("batch {} ran out of memory", *too_big_));
  } else {
    measure({});
  }
}

void ThroughputRun::largest(const MemoryLimit& limit) {
  TrainerOptions& trainer = options_.training.trainer;
  if (trainer.device == ComputeDevice::cpu && options_.memory_limit == 0) {
    return skip("the largest batch of a CPU is where it begins to swap: give --memory-limit",
                BatchSearch{});
  }
  console_.note(fmt::format("{}: searching the largest batch", trainer.choice.label));
  const BatchSearch search = search_largest_batch(ranks_, options_, limit);
  if (search.largest == 0) return skip("memory does not hold one image a step", search);
  trainer.batch = search.largest;
  measure(search);
}

void ThroughputRun::measure(std::optional<BatchSearch> search) {
  console_.note(fmt::format("{}: {} rank(s) at work for up to {:.0f} s",
                            options_.training.trainer.choice.label, ranks_.session.size(),
                            options_.max_seconds));
  ThroughputResult result = measure_throughput(ranks_, options_);
  result.search = std::move(search);
  if (result.search && result.search->all_fit) {
    result.remarks += fmt::format("{}memory holds more than the data set has",
                                  result.remarks.empty() ? "" : "; ");
  }
  report(rows_of(ranks_, options_, result, roofline_, recorder_));
  for (const ResultRow& row : samples_of(options_, result, recorder_)) recorder_.write(row);
  if (result.out_of_memory) too_big_ = result.trainer.batch;
}

void ThroughputRun::skip(const std::string& why, std::optional<BatchSearch> search) {
  report({skipped_row(ranks_, options_, why, recorder_, std::move(search))});
}

void ThroughputRun::report(const std::vector<ResultRow>& rows) {
  for (const ResultRow& row : rows) {
    recorder_.write(row);
    console_.result(throughput_line(row, options_.training.format));
    outcome_.count(row.get("status"));
  }
}

}  // namespace scalebench
