// SPDX-License-Identifier: Apache-2.0
#include "bench/allreduce/measure.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "bench/measure/clock_sync.hpp"
#include "bench/measure/statistics.hpp"
#include "collectives/allreduce_check.hpp"
#include "collectives/control.hpp"
#include "collectives/transport/nccl.hpp"
#include "kernels/device.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

constexpr std::size_t kPage = 4096;

std::size_t page_aligned(std::size_t bytes) {
  return (std::max(bytes, std::size_t{1}) + kPage - 1) / kPage * kPage;
}

/// Bytes that surely displace what the last-level cache holds.
std::size_t beyond_cache(Memory memory) {
  constexpr std::size_t kDeviceCache = std::size_t{128} << 20U;  // above any card's L2 today
  return 4 * (memory == Memory::device ? kDeviceCache : host_cache_bytes());
}

std::size_t slot_bytes(const AllreduceCase& one) {
  return page_aligned(one.bytes()) * (one.in_place ? 1 : 2);
}

}  // namespace

std::size_t AllreduceFootprint::walk_bytes(Memory memory) const {
  if (!cold) return 0;
  return cold_bytes > 0 ? cold_bytes : beyond_cache(memory);
}

std::size_t AllreduceFootprint::window_bytes(Memory memory) const {
  const std::size_t slot = page_aligned(largest_bytes) * (out_of_place ? 2 : 1);
  // Slots of any size that are no less than the walk reach beyond it by less than the largest.
  return slot + (cold ? page_aligned(walk_bytes(memory)) : 0);
}

AllreduceFootprint footprint_of(const AllreduceOptions& options) {
  const bool apart = std::ranges::find(options.in_place, false) != options.in_place.end();
  return {.largest_bytes = options.max_bytes,
          .out_of_place = apart,
          .cold = options.method.cache == Cache::cold};
}

AllreduceBuffers::AllreduceBuffers(Communicator& data, const AllreduceFootprint& footprint)
    : window_(data.window(footprint.window_bytes(data.memory()) / size_of(DType::float64),
                          DType::float64)),
      walk_(footprint.walk_bytes(data.memory())) {}

std::size_t AllreduceBuffers::slots(const AllreduceCase& one) const {
  const std::size_t slot = slot_bytes(one);
  return std::max<std::size_t>((walk_ + slot - 1) / slot, 1);
}

AllreduceSpans AllreduceBuffers::slot(const AllreduceCase& one, std::size_t index) const {
  std::byte* at = window_.span.data + index * slot_bytes(one);
  const Span in{at, one.count, one.dtype, window_.span.memory};
  Span out = in;
  if (!one.in_place) out.data += page_aligned(one.bytes());
  return {in, out};
}

Span AllreduceBuffers::front(std::size_t count, DType dtype) const {
  return {window_.span.data, count, dtype, window_.span.memory};
}

void require_memory(const AllreduceFootprint& footprint, std::size_t host_transports,
                    std::size_t shared, int ranks_on_host) {
  // A window and its algorithms' scratch for each transport, the inputs of the check for all. Ranks
  // that share memory may share two more windows of scratch.
  const auto largest = static_cast<double>(footprint.largest_bytes);
  const double window = static_cast<double>(footprint.window_bytes(Memory::host)) + largest;
  const double needed = (window * static_cast<double>(host_transports) +
                         (1 + 2 * static_cast<double>(shared)) * largest) *
                        ranks_on_host;
  const auto free = static_cast<double>(host_bytes_available());
  if (needed <= free) return;
  fail<UsageError>(
      "a buffer of {} bytes needs {:.0f} bytes for {} rank(s) and {} transport(s) on this host, "
      "{:.0f} are free; use a smaller -e{}",
      footprint.largest_bytes, needed, ranks_on_host, host_transports, free,
      host_transports > 1 ? " or one --transport" : "");
}

namespace {

TimingMethod timing_of(const AllreduceCase& one, const AllreduceMethod& method) {
  TimingMethod timing;
  timing.warm_up = method.warm_up;
  timing.stop = StopRule::for_bytes(one.bytes());
  timing.stop.fixed = one.pipelined ? method.batches : method.repetitions;
  timing.stop.at_most_seconds = method.stop_seconds;
  timing.stop.capped = method.capped;
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

/// "3 elements of rank 1 differ from the exact result": the rank to look at, where it is not most.
std::string described(const std::vector<std::size_t>& wrong) {
  std::vector<std::size_t> ranks;
  for (std::size_t rank = 0; rank < wrong.size(); ++rank) {
    if (wrong[rank] > 0) ranks.push_back(rank);
  }
  const std::size_t all = std::accumulate(wrong.begin(), wrong.end(), std::size_t{0});
  const std::string whose = 2 * ranks.size() > wrong.size() && ranks.size() > 1
                                ? std::string()
                                : fmt::format(" of rank {}", fmt::join(ranks, ", "));
  return fmt::format("{} elements{} differ from the exact result", all, whose);
}

}  // namespace

void AllreduceBench::run(const AllreduceCase& one, AllreduceSpans spans) const {
  if (progress != nullptr) progress->enter();
  const double begin = slower > 0 ? local_seconds() : 0;
  one.algorithm->run(data, spans.in, spans.out, one.op);
  if (slower > 0) {
    data.wait();
    // Not asleep: no timer is as fine as the operations are.
    const double end = local_seconds() + slower * (local_seconds() - begin);
    while (local_seconds() < end) continue;
  }
  if (fault != nullptr) {
    data.wait();
    fault->strike(spans.out);
  }
  if (progress != nullptr) progress->leave();
}

void AllreduceBench::wait() const {
  // On the host nothing is ever waited for: run() has done it all.
  if (data.memory() == Memory::host) return;
  if (progress != nullptr) progress->enter();
  data.wait();
  if (progress != nullptr) progress->leave();
}

double slow_seconds(std::size_t bytes, int ranks) {
  constexpr double kSlowBytesPerSecond = 1e9;
  return 2.0 * static_cast<double>(bytes) * ranks / kSlowBytesPerSecond;
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
  std::uint32_t seed = 0;  // as many checks as there were
  const auto right = [&](std::size_t checks) {
    for (std::size_t i = 0; i < checks; ++i) {
      result.wrong =
          bench.verifier.count_wrong(bench.data, bench.buffers.slot(one, 0), one.op, seed++, [&] {
            operate(0);
            bench.wait();
          });
      if (result.all_wrong() > 0) return false;
    }
    return true;
  };
  const std::size_t once = std::min<std::size_t>(method.checks, 1);
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
    bool fine = right(method.graph ? once : method.checks);
    if (fine && method.graph) {
      graph = captured(bench, one);
      fine = right(method.checks);
    }
    if (fine) {
      TimingMethod timing = timing_of(one, method);
      timing.next_part = bench.next_part;
      result.timing = bench.timer.measure(operation, timing);
      if (method.cache == Cache::written && result.timing.operations > 1) {
        result.note = fmt::format("written before the first of the {} operations of a repetition",
                                  result.timing.operations);
      }
      fine = right(once);
    }
    if (fine) return result;
  } catch (const Unavailable& reason) {
    // Every rank meets it at the same place, before any message of this case.
    return {.status = "skipped", .note = reason.what()};
  }
  std::string note = described(result.wrong);
  if (method.checks > 1) note += fmt::format(", in check {} of {}", seed, method.checks + once);
  return {.status = "wrong", .note = std::move(note), .wrong = result.wrong};
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

ConstSpan AllreduceVerifier::inputs(std::size_t count, const Kind& kind) {
  if (inputs_.bytes() == 0) inputs_ = Buffer(largest_bytes_ / sizeof(double), DType::float64);
  if (kind != kind_ || count > filled_) {
    fill_inputs(front(inputs_, count, kind.dtype), kind.rank, kind.ranks, kind.op, kind.seed);
    kind_ = kind;
    filled_ = count;
  }
  return front(inputs_, count, kind.dtype);
}

void AllreduceVerifier::require_sight(Span right, const Kind& kind) {
  if (right.empty() || !seen_.insert({kind.dtype, kind.op}).second) return;
  poison(right.part(right.count / 2, 1));
  const std::size_t wrong = scalebench::count_wrong(right, kind.ranks, kind.op, kind.seed);
  if (wrong != 1) {
    fail("the check of {} {} finds {} wrong elements where one was made wrong on purpose",
         name_of(kind.dtype), name_of(kind.op), wrong);
  }
}

std::vector<std::size_t> AllreduceVerifier::count_wrong(Communicator& data, AllreduceSpans spans,
                                                        ReduceOp op, std::uint32_t seed,
                                                        const std::function<void()>& run) {
  const Span out = spans.out;
  const bool in_place = spans.in.data == out.data;
  const bool on_device = data.memory() == Memory::device;
  if (on_device && staging_.bytes() == 0) {
    staging_ = Buffer(largest_bytes_ / sizeof(double), DType::float64);
  }
  // On a device, whatever the host is to see or to write passes through `staging`.
  const Span staging = on_device ? front(staging_, out.count, out.dtype) : out;
  const Kind kind{data.rank(), data.size(), out.dtype, op, seed};
  const ConstSpan given = inputs(out.count, kind);
  copy(given, spans.in);
  if (!in_place) {
    poison(staging);
    if (on_device) copy(staging, out);
  }
  run();
  if (on_device) copy(out, staging);
  std::size_t wrong = scalebench::count_wrong(staging, data.size(), op, seed);
  if (wrong == 0) require_sight(staging, kind);
  if (!in_place) {
    if (on_device) copy(spans.in, staging);
    wrong += count_changed(given, on_device ? staging : spans.in);
  }
  const std::vector<double> all = all_gather(host_, static_cast<double>(wrong));
  zero(spans.in);
  zero(out);
  std::vector<std::size_t> of_ranks;
  for (const double one : all) of_ranks.push_back(static_cast<std::size_t>(one));
  return of_ranks;
}

}  // namespace scalebench
