// SPDX-License-Identifier: Apache-2.0
#include "bench/kernels/timing.hpp"

#include <fmt/format.h>

#include <chrono>
#include <exception>

#include "bench/kernels/run.hpp"
#include "bench/measure/clock.hpp"
#include "bench/measure/event_column.hpp"
#include "kernels/device.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_between(Clock::time_point start, Clock::time_point stop) {
  return std::chrono::duration<double>(stop - start).count();
}

void time_on_host(benchmark::State& state, const KernelCase& one, const KernelRun& run) {
  for ([[maybe_unused]] auto iteration : state) {
    const Clock::time_point start = Clock::now();
    for (std::size_t call = 0; call < one.calls(); ++call) {
      run({});
      benchmark::ClobberMemory();
    }
    state.SetIterationTime(seconds_between(start, Clock::now()));
  }
}

KernelLook time_on_device(benchmark::State& state, const KernelCase& one, const KernelRun& run) {
  const OwnedStream stream;
  DeviceEvent start, stop;
  double enqueueing = 0, calls = 0;
  const double begin = local_seconds();
  for ([[maybe_unused]] auto iteration : state) {
    start.record(stream.get());
    const double enqueued_from = local_seconds();
    for (std::size_t call = 0; call < one.calls(); ++call) run(stream.get());
    enqueueing += local_seconds() - enqueued_from;
    calls += static_cast<double>(one.calls());
    stop.record(stream.get());
    stop.synchronize();
    state.SetIterationTime(stop.seconds_since(start));
  }
  return {{begin, local_seconds()}, enqueueing / calls};
}

/// What every reading of a host time costs: the pair of clock calls around it.
void time_the_clock(benchmark::State& state, const KernelCase& one) {
  for ([[maybe_unused]] auto iteration : state) {
    const Clock::time_point start = Clock::now();
    for (std::size_t pair = 0; pair < one.calls(); ++pair) {
      benchmark::DoNotOptimize(seconds_between(Clock::now(), Clock::now()));
    }
    state.SetIterationTime(seconds_between(start, Clock::now()));
  }
}

/// What the trace of a training step costs: 24 events, of which 16 are communication, each a look
/// at the clock and an append to one of the log's columns.
void time_the_event_log(benchmark::State& state, const KernelCase& one) {
  struct Event {
    double at;
    int kind;
  };
  constexpr int kPhases = 7, kExchanges = 8;
  for ([[maybe_unused]] auto iteration : state) {
    EventColumn<double> steps, ended;
    EventColumn<Event> phases, posted;
    const Clock::time_point start = Clock::now();
    for (std::size_t step = 0; step < one.calls(); ++step) {
      steps.append(local_seconds());
      for (int phase = 0; phase < kPhases; ++phase) phases.append({local_seconds(), phase});
      for (int exchange = 0; exchange < kExchanges; ++exchange) {
        posted.append({local_seconds(), 0});
        ended.append(local_seconds());
      }
    }
    state.SetIterationTime(seconds_between(start, Clock::now()));
  }
}

void check_and_time(benchmark::State& state, const KernelCase& one, KernelStatus& status) {
  if (one.kernel == "event_log") return time_the_event_log(state, one);
  if (one.count == 0) return time_the_clock(state, one);
  const bool on_device = one.memory == Memory::device;
  if (on_device && device_count() == 0) throw Unavailable(why_no_device());
  const KernelRun run(one);
  const ProfilerRange range(one.name().c_str());
  run({});
  if (on_device) device_synchronize();
  if (const std::size_t wrong = run.count_wrong(); wrong > 0) {
    status = {.status = "wrong", .note = fmt::format("{} of {} elements", wrong, one.count)};
    return state.SkipWithError(status.note.c_str());
  }
  if (on_device) {
    status.looks.push_back(time_on_device(state, one, run));
    return;
  }
  time_on_host(state, one, run);
}

}  // namespace

void time_kernel(benchmark::State& state, const KernelCase& one, KernelStatus& status) {
  try {
    check_and_time(state, one, status);
  } catch (const Unavailable& error) {
    status = {.status = "skipped", .note = error.what()};
    state.SkipWithError(error.what());
  } catch (const std::exception& error) {
    status = {.status = "failed", .note = error.what()};
    state.SkipWithError(error.what());
  }
}

}  // namespace scalebench
