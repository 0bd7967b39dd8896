// SPDX-License-Identifier: Apache-2.0
#include "bench/allreduce/measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <iterator>
#include <numeric>

#include "bench/measure/clock_sync.hpp"
#include "bench/measure/statistics.hpp"
#include "collectives/allreduce_check.hpp"
#include "collectives/control.hpp"
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

std::size_t AllreduceFootprint::window_bytes(Memory memory, std::optional<Pages> pages) const {
  const std::size_t slot = page_aligned(largest_bytes) * (out_of_place ? 2 : 1);
  const std::size_t walk = cold_bytes > 0 ? cold_bytes : beyond_cache(memory);
  const std::size_t bytes = cold ? std::max(slot, page_aligned(walk)) : slot;
  if (pages != Pages::huge) return bytes;
  constexpr std::size_t kFewest = 2;  // a Buffer with less is too small for them
  return std::max(kFewest, (bytes + kHugePageBytes - 1) / kHugePageBytes) * kHugePageBytes;
}

AllreduceBuffers::AllreduceBuffers(Communicator& data, const AllreduceFootprint& footprint)
    : window_(
          data.window(footprint.window_bytes(data.memory(), data.pages()) / size_of(DType::float64),
                      DType::float64)),
      cold_(footprint.cold) {}

std::size_t AllreduceBuffers::slots(const AllreduceCase& one) const {
  return cold_ ? std::max<std::size_t>(window_.span.bytes() / slot_bytes(one), 1) : 1;
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
                    int ranks_on_host) {
  // A window and its algorithms' scratch for each transport and kind of pages, the inputs of the
  // check for all.
  const auto largest = static_cast<double>(footprint.largest_bytes);
  const double window = static_cast<double>(footprint.window_bytes(Memory::host)) + largest;
  const double needed = (window * static_cast<double>(host_transports) + largest) * ranks_on_host;
  const auto free = static_cast<double>(host_bytes_available());
  if (needed <= free) return;
  fail<UsageError>(
      "a buffer of {} bytes needs {:.0f} bytes for {} rank(s) and {} transport(s) on this host, "
      "{:.0f} are free; use a smaller -e{}",
      footprint.largest_bytes, needed, ranks_on_host, host_transports, free,
      host_transports > 1 ? " or one --transport" : "");
}

namespace {

/// Where the plan moves buffers, in its order.
std::vector<AllreducePlace> places_of(const TransportPlan& plan, const AllreduceOptions& options) {
  std::vector<AllreducePlace> places;
  for (const std::string& name : plan.names) {
    const bool host = name == "shared_memory" || (name == "mpi" && plan.mpi_memory == Memory::host);
    if (host) {
      for (const Pages pages : options.pages) places.push_back({name, Memory::host, pages});
    } else if (name != "nccl" || options.registrations.empty()) {
      places.push_back({name, Memory::device, std::nullopt});
    } else {
      for (const Registration one : options.registrations) {
        places.push_back({name, Memory::device, std::nullopt, one});
      }
    }
  }
  return places;
}

}  // namespace

std::vector<LaunchTransport> open_transports(const Ranks& ranks, const TransportPlan& plan,
                                             const AllreduceOptions& options,
                                             const RankDevices& devices) {
  try {
    require_nccl_for_registrations(options, plan.names);
  } catch (const UsageError& error) {
    throw JointRefusal(error.what());  // of the plan, which is the same on all ranks
  }
  std::vector<LaunchTransport> transports;
  for (const AllreducePlace& place : places_of(plan, options)) {
    LaunchTransport transport;
    transport.place = place;
    transport.shares_devices = place.memory == Memory::device && devices.shared;
    try {
      transport.communicator =
          make_transport(ranks, place.transport, plan.mpi_memory, devices, place.registration);
      if (place.pages) transport.communicator->set_pages(*place.pages);
    } catch (const Unavailable& reason) {
      if (!plan.by_name) continue;
      transport.why_not = reason.what();
    }
    transports.push_back(std::move(transport));
    if (plan.only_one) break;
  }
  ranks.watchdog.end_cell();  // of an opening that failed, too
  return transports;
}

namespace {

/// Collective: the rank with the fewest; empty where some rank cannot tell.
std::optional<double> least_huge_share(Communicator& data, const AllreduceBuffers& buffers) {
  constexpr double kUnknown = -1;
  const double mine = huge_page_share(buffers.all()).value_or(kUnknown);
  const double least = std::ranges::min(all_gather(data, mine));
  return least == kUnknown ? std::nullopt : std::optional(least);
}

/// Throws Unavailable, on all ranks, where huge pages were asked for and there are none.
void require_pages(const LaunchTransport& transport, Communicator& host) {
  if (transport.place.pages != Pages::huge || transport.huge_share.value_or(1) > 0) return;
  const bool shared = transport.place.transport == "shared_memory";
  std::string why = "this system gave none";
  for (const std::string& of_rank : all_gather(host, why_no_huge_pages(shared))) {
    if (!of_rank.empty()) why = of_rank;
  }
  fail<Unavailable>("no huge pages for transport {}: {}", transport.place.transport, why);
}

}  // namespace

void allocate(std::vector<LaunchTransport>& transports, const AllreduceFootprint& footprint) {
  for (LaunchTransport& transport : transports) {
    if (!transport.communicator) continue;
    try {
      Communicator& data = *transport.communicator;
      transport.buffers = std::make_unique<AllreduceBuffers>(data, footprint);
      transport.registered = data.registration();
      if (!transport.place.pages) continue;
      transport.huge_share = least_huge_share(data, *transport.buffers);
      require_pages(transport, data);
    } catch (const Unavailable& reason) {
      transport.why_not = reason.what();
      transport.buffers.reset();
      transport.communicator.reset();
    }
  }
}

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
  if (watchdog != nullptr) watchdog->leave();
}

void AllreduceBench::wait() const {
  // On the host nothing is ever waited for: run() has done it all.
  if (data.memory() == Memory::host) return;
  if (watchdog != nullptr) watchdog->enter();
  data.wait();
  if (watchdog != nullptr) watchdog->leave();
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

namespace {

constexpr std::size_t kSmallest = std::size_t{64} << 10U;

struct Kernel {
  std::string_view name;
  double moved;  // bytes for each byte of the footprint
  std::function<void(Span)> run;
};

/// Each touches the whole span once; zeros stay zeros.
void combine_halves(Span span, Stores stores) {
  const std::size_t half = span.count / 2;
  const std::array<Span, 2> halves{span.part(0, half), span.part(half, half)};
  const std::array<ConstSpan, 2> sources{halves[0], halves[1]};
  combine(sources, halves, ReduceOp::sum, stores);
}

/// Each touches the whole span once; zeros stay zeros.
std::array<Kernel, 4> kernels() {
  return {{{"scale", 2, [](Span span) { scale(span, 0.5); }},
           {"copy", 1,
            [](Span span) {
              const std::size_t half = span.count / 2;
              stream_copy(span.part(0, half), span.part(half, half));
            }},
           {"combine", 2, [](Span span) { combine_halves(span, Stores::cached); }},
           {"combine_streaming", 2, [](Span span) { combine_halves(span, Stores::streaming); }}}};
}

/// Seconds of the slowest rank for one pass; the median of a few. The same on all ranks.
double seconds_of(Communicator& host, const Kernel& kernel, Span span) {
  constexpr double kSecondsAKernel = 0.02;
  constexpr double kFewest = 3, kMost = 15;
  // Passes that are too short for a barrier's skew go several in a row.
  const std::size_t passes = std::max<std::size_t>(1, (std::size_t{1} << 20U) / span.bytes());
  const auto once = [&] {
    host.barrier();
    const double begin = local_seconds();
    for (std::size_t i = 0; i < passes; ++i) kernel.run(span);
    return (local_seconds() - begin) / static_cast<double>(passes);
  };
  const double first = std::ranges::max(all_gather(host, once())) * static_cast<double>(passes);
  const double wanted = std::clamp(kSecondsAKernel / first, kFewest, kMost);
  // A last-level cache takes several passes to fill as it will stay.
  const double unmeasured = std::clamp(kSecondsAKernel / 2 / first, 1.0, kMost);
  for (std::size_t i = 0; i < static_cast<std::size_t>(unmeasured); ++i) once();
  std::vector<double> mine;
  for (std::size_t i = 0; i < static_cast<std::size_t>(wanted); ++i) mine.push_back(once());
  const std::vector<double> all = all_gather(host, mine);
  std::vector<double> slowest = mine;
  for (std::size_t i = 0; i < all.size(); ++i) {
    double& of_pass = slowest[i % mine.size()];
    of_pass = std::max(of_pass, all[i]);
  }
  return median_of(slowest);
}

double rank_0_seconds(Communicator& host) {
  double now = local_seconds();
  broadcast(host, span_of(std::span(&now, 1)), 0);
  return now;
}

}  // namespace

bool AllreduceBound::measure(std::size_t size) {
  const std::size_t bytes = std::bit_floor(size);
  if (bytes < kSmallest || host_.size() == 1) return false;
  // Measuring again takes one part in thirty of the time at most.
  constexpr double kFresh = 30, kFreshSeconds = 3;
  const double begin = rank_0_seconds(host_);
  const auto known = points_.find(bytes);
  if (known == points_.end() && budget_seconds_ <= 0) return false;
  if (known != points_.end()) {
    const BoundPoint& point = known->second;
    const double age = begin - point.measured_at;
    if (age < kFreshSeconds || age < kFresh * point.cost_seconds) return false;
  }
  BoundPoint& point = points_[bytes];
  const Span span = buffers_.front(bytes / sizeof(float), DType::float32);
  const std::string_view only = point.kernel;
  point.bytes_per_second = 0;
  for (const Kernel& kernel : kernels()) {
    if (!only.empty() && kernel.name != only) continue;
    const double seconds = seconds_of(host_, kernel, span);
    const double rate = kernel.moved * static_cast<double>(bytes) * host_.size() / seconds;
    if (rate <= point.bytes_per_second) continue;
    point.kernel = kernel.name;
    point.bytes_per_second = rate;
  }
  point.best_bytes_per_second = std::max(point.best_bytes_per_second, point.bytes_per_second);
  point.measured_at = rank_0_seconds(host_);
  point.cost_seconds = point.measured_at - begin;
  budget_seconds_ -= only.empty() ? point.cost_seconds : 0;
  return true;
}

double AllreduceBound::seconds(std::size_t bytes) const {
  const auto above = points_.upper_bound(bytes);
  if (above == points_.begin()) return std::numeric_limits<double>::quiet_NaN();
  const BoundPoint& point = std::prev(above)->second;
  return 2.0 * static_cast<double>(bytes) * host_.size() / point.bytes_per_second;
}

}  // namespace scalebench
