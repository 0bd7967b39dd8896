// SPDX-License-Identifier: Apache-2.0
#include "bench/allreduce/measure.hpp"

#include <fmt/format.h>

#include <cstring>
#include <memory>
#include <numeric>

#include "bench/measure/statistics.hpp"
#include "collectives/allreduce_check.hpp"
#include "collectives/control.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

TimingMethod timing_of(const AllreduceCase& one, const AllreduceMethod& method) {
  TimingMethod timing;
  timing.warm_up = method.warm_up;
  timing.stop = StopRule::for_bytes(one.bytes());
  timing.stop.fixed = one.pipelined ? method.batches : method.repetitions;
  timing.stop.at_most_seconds = method.stop_seconds;
  timing.start = method.start;
  timing.mode = one.pipelined ? TimingMode::pipelined : TimingMode::isolated;
  timing.pipeline = method.pipeline;
  return timing;
}

/// Collective: a graph of the case in its first slot.
std::unique_ptr<DeviceGraph> captured(const AllreduceBench& bench, const AllreduceCase& one) {
  Communicator& data = bench.data;
  if (data.memory() == Memory::host) {
    fail<Unavailable>("-G needs a device: transport {} is on host memory", data.transport());
  }
  if (!data.capturable()) {
    fail<Unavailable>("transport {} cannot be captured into a CUDA graph", data.transport());
  }
  const AllreduceSpans spans = bench.buffers.slot(one, 0);
  // While capturing nothing may be allocated: scratch has come to its size before, both of it.
  for (int warm_up = 0; warm_up < 2; ++warm_up) bench.run(one, spans);
  bench.wait();
  auto graph = std::make_unique<DeviceGraph>();
  graph->begin_capture(data.stream());
  one.algorithm->run(data, spans.in, spans.out, one.op);
  graph->end_capture();
  return graph;
}

/// Collective.
LaunchCost launch_cost(const AllreduceBench& bench, const CollectiveOperation& operation) {
  constexpr int kOperations = 10;
  // Only a transport with a stream of its own enqueues.
  if (bench.data.stream().handle == nullptr) return {};
  std::vector<double> enqueue, device;
  DeviceEvent begun, done;
  for (int i = 0; i < kOperations; ++i) {
    operation.prepare();
    begun.record(bench.data.stream());
    const double begin = local_seconds();
    operation.enqueue();
    enqueue.push_back(local_seconds() - begin);
    done.record(bench.data.stream());
    operation.wait();
    done.synchronize();
    device.push_back(done.seconds_since(begun));
  }
  return {median_of(enqueue), median_of(device)};
}

}  // namespace

void AllreduceBench::run(const AllreduceCase& one, AllreduceSpans spans) const {
  if (watchdog != nullptr) watchdog->enter();
  one.algorithm->run(data, spans.in, spans.out, one.op);
  if (fault != nullptr) {
    data.wait();
    fault->strike(spans.out);
  }
  if (watchdog != nullptr) watchdog->leave();
}

void AllreduceBench::wait() const {
  // On the host nothing is ever waited for: run() has done it all.
  if (data.memory() == Memory::host) return;
  if (watchdog != nullptr) watchdog->enter();
  data.wait();
  if (watchdog != nullptr) watchdog->leave();
}

AllreduceResult measure_allreduce(const AllreduceBench& bench, const AllreduceCase& one,
                                  const AllreduceMethod& method) {
  AllreduceResult result;
  std::unique_ptr<DeviceGraph> graph;
  const std::size_t slots = bench.buffers.slots(one);
  std::size_t slot = 0;
  const auto operate = [&](std::size_t where) {
    if (graph) return graph->launch(bench.data.stream());
    bench.run(one, bench.buffers.slot(one, where));
  };
  const auto right = [&] {
    if (!method.check) return true;
    result.wrong = bench.verifier.count_wrong(bench.data, bench.buffers.slot(one, 0), one.op, [&] {
      operate(0);
      bench.wait();
    });
    return result.wrong == 0;
  };
  // Every operation of a pipelined repetition has a slot of its own, too.
  const auto next = [&] {
    operate(slot);
    slot = (slot + 1) % slots;
  };
  const auto prepare = [&] {
    // Zeros times one are zeros, written by the rank whose input they are.
    if (method.cache != Cache::written) return;
    const Span input = bench.buffers.slot(one, slot).in;
    bench.data.scale(input, 1);
    bench.data.wait();
  };
  const CollectiveOperation operation{
      .prepare = prepare, .enqueue = next, .wait = [&] { bench.wait(); }};
  try {
    bool fine = right();
    if (fine && method.graph) {
      graph = captured(bench, one);
      fine = right();
    }
    if (fine) {
      result.timing = bench.timer.measure(operation, timing_of(one, method));
      result.launch = launch_cost(bench, operation);
      fine = right();
    }
    if (fine) return result;
  } catch (const Unavailable& reason) {
    // Every rank meets it at the same place, before any message of this case.
    return {.status = "skipped", .note = reason.what()};
  }
  return {.status = "wrong",
          .note = fmt::format("{} elements differ from the exact result", result.wrong),
          .wrong = result.wrong};
}

namespace {

Span front(const Buffer& buffer, std::size_t count, DType dtype) {
  return {buffer.span().data, count, dtype, Memory::host};
}

/// Elements whose bytes differ.
std::size_t count_changed(ConstSpan before, ConstSpan after) {
  if (before.empty() || std::memcmp(before.data, after.data, before.bytes()) == 0) return 0;
  std::size_t changed = 0;
  for (std::size_t i = 0; i < before.count; ++i) {
    const ConstSpan one = before.part(i, 1);
    changed += std::memcmp(one.data, after.part(i, 1).data, one.bytes()) == 0 ? 0 : 1;
  }
  return changed;
}

void zero(Span span) {
  if (span.empty()) return;
  if (span.memory == Memory::device) return device_zero(span.data, span.bytes());
  std::memset(span.data, 0, span.bytes());
}

}  // namespace

AllreduceVerifier::AllreduceVerifier(Communicator& host, std::size_t largest_bytes)
    : host_(host), largest_bytes_(largest_bytes + sizeof(double)) {}

ConstSpan AllreduceVerifier::inputs(const Communicator& data, std::size_t count, DType dtype,
                                    ReduceOp op) {
  if (inputs_.bytes() == 0) inputs_ = Buffer(largest_bytes_ / sizeof(double), DType::float64);
  if (dtype != dtype_ || op != op_ || count > filled_) {
    fill_inputs(front(inputs_, count, dtype), data.rank(), data.size(), op);
    dtype_ = dtype;
    op_ = op;
    filled_ = count;
  }
  return front(inputs_, count, dtype);
}

std::size_t AllreduceVerifier::count_wrong(Communicator& data, AllreduceSpans spans, ReduceOp op,
                                           const std::function<void()>& run) {
  const Span out = spans.out;
  const bool in_place = spans.in.data == out.data;
  const bool on_device = data.memory() == Memory::device;
  if (on_device && staging_.bytes() == 0) {
    staging_ = Buffer(largest_bytes_ / sizeof(double), DType::float64);
  }
  // On a device, whatever the host is to see or to write passes through `staging`.
  const Span staging = on_device ? front(staging_, out.count, out.dtype) : out;
  const ConstSpan given = inputs(data, out.count, out.dtype, op);
  copy(given, spans.in);
  if (!in_place) {
    poison(staging);
    if (on_device) copy(staging, out);
  }
  run();
  if (on_device) copy(out, staging);
  std::size_t wrong = scalebench::count_wrong(staging, data.size(), op);
  if (!in_place) {
    if (on_device) copy(spans.in, staging);
    wrong += count_changed(given, on_device ? staging : spans.in);
  }
  const std::vector<double> all = all_gather(host_, static_cast<double>(wrong));
  zero(spans.in);
  zero(out);
  return static_cast<std::size_t>(std::accumulate(all.begin(), all.end(), 0.0));
}

}  // namespace scalebench
