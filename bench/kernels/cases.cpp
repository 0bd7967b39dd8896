// SPDX-License-Identifier: Apache-2.0
#include "bench/kernels/cases.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <span>
#include <thread>
#include <utility>

#include "bench/cli/quantity.hpp"
#include "bench/measure/clock.hpp"
#include "kernels/device.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/error.hpp"
#include "kernels/gemm.hpp"

namespace scalebench {
namespace {

// Bytes and sides; the last ones are beyond a GPU's caches, and what fills its tensor cores.
constexpr std::array<std::size_t, 4> kHostSizes{4096, 256 << 10, 16 << 20, 64 << 20};
constexpr std::array<std::size_t, 4> kDeviceSizes{4096, 256 << 10, 16 << 20, 256 << 20};
constexpr std::array<std::size_t, 3> kHostSides{256, 512, 1024};
constexpr std::array<std::size_t, 3> kDeviceSides{512, 1024, 8192};

struct Kernel {
  std::string_view name;
  std::size_t reads;   // elements of the dtype that make one element of the result
  std::size_t writes;  // 0: the result is float, where the dtype is another
  std::size_t flops;   // for one element of the result
  std::vector<DType> dtypes;
};

std::vector<Kernel> kernels(Memory memory) {
  const std::vector<DType> all(kDTypes.begin(), kDTypes.end());
  const std::vector<DType> half_types{DType::float16, DType::bfloat16};
  const std::vector<DType> one{DType::float32};  // where the dtype changes nothing
  std::vector<Kernel> all_of_them{{"copy", 1, 1, 0, one},
                                  {"triad", 2, 1, 2, all},
                                  {"add", 2, 1, 1, all},
                                  {"scale", 1, 1, 1, all},
                                  {"cast_to_float", 1, 0, 0, half_types},
                                  {"cast_from_float", 0, 1, 0, half_types},
                                  {"pack", 1, 1, 0, one},
                                  {"unpack", 1, 1, 0, one}};
  // On the host copy is the C library's; a driver has a copy beside ours.
  if (memory == Memory::device) all_of_them.push_back({"memcpy", 1, 1, 0, one});
  return all_of_them;
}

std::vector<DType> gemm_dtypes(Memory memory) {
  if (memory == Memory::host) return {DType::float32, DType::float64};
  return {DType::float32, DType::float64, DType::float16, DType::bfloat16};
}

}  // namespace

std::string KernelCase::name() const {
  return fmt::format("{}/{}/{}/{}", kernel, name_of(dtype), size(),
                     memory == Memory::host ? "host" : "device");
}

std::string KernelCase::size() const {
  if (kernel != "gemm") return show_size(count * size_of(dtype));
  const std::size_t side = flops / (2 * count);
  return fmt::format("{0} x {0}", side);
}

std::size_t KernelCase::calls() const {
  // 16 MiB moved take a millisecond or a tenth of one; a look at the clock takes tens of ns.
  constexpr std::size_t kBytes = 16 << 20;
  return std::clamp<std::size_t>(kBytes / std::max(bytes, flops / 16), 1, 1000);
}

std::vector<KernelCase> kernel_cases(Memory memory) {
  std::vector<KernelCase> cases;
  const bool host = memory == Memory::host;
  for (const Kernel& kernel : kernels(memory)) {
    for (const DType dtype : kernel.dtypes) {
      for (const std::size_t size : host ? kHostSizes : kDeviceSizes) {
        const std::size_t count = size / size_of(dtype);
        const bool through_float = kernel.reads == 0 || kernel.writes == 0;
        const std::size_t moved =
            (kernel.reads + kernel.writes) * size_of(dtype) + (through_float ? sizeof(float) : 0);
        cases.push_back({kernel.name, memory, dtype, count, moved * count, kernel.flops * count});
      }
    }
  }
  for (const DType dtype : gemm_dtypes(memory)) {
    for (const std::size_t side : host ? kHostSides : kDeviceSides) {
      const std::size_t count = side * side;
      cases.push_back({"gemm", memory, dtype, count, 3 * count * size_of(dtype), 2 * count * side});
    }
  }
  return cases;
}

namespace {

constexpr std::size_t kParts = 16;  // of one pack

int first_input(std::size_t i) { return static_cast<int>(i % 7) - 3; }
int second_input(std::size_t i) { return static_cast<int>(i % 5) - 2; }

constexpr std::size_t kPiece = 16384;  // elements whose numbers stay in a core's cache

/// `work(first, length)` of pieces of `count` elements, kPiece at most, on all processors at once:
/// 256 MiB of a device's take one core longer than all that is measured of them. Must not throw.
void in_pieces(std::size_t count, const std::function<void(std::size_t, std::size_t)>& work) {
  constexpr std::size_t kWorthAThread = std::size_t{1} << 20U;
  const std::size_t most = std::max(1U, std::thread::hardware_concurrency());
  const std::size_t threads = std::clamp<std::size_t>(count / kWorthAThread, 1, most);
  const std::size_t slice = (count + threads - 1) / threads;
  const auto work_slice = [&work, count, slice](std::size_t first) {
    const std::size_t last = std::min(first + slice, count);
    for (; first < last; first += kPiece) work(first, std::min(kPiece, last - first));
  };
  std::vector<std::jthread> others;
  for (std::size_t first = slice; first < count; first += slice) {
    others.emplace_back(work_slice, first);
  }
  work_slice(0);
}

}  // namespace

/// A case that is ready to be called: its buffers, the call, and what the result must be. Inputs
/// are small integers, so that every result is known exactly and is checked before anything is
/// timed.
struct KernelRun {
  /// Allocates and fills. Throws what Buffer throws.
  explicit KernelRun(const KernelCase& one);

  /// A new buffer whose element i is function(i).
  Span filled(std::size_t count, DType dtype, const std::function<int(std::size_t)>& function);
  /// Elements of the result that are not what exactly one call makes of the inputs.
  std::size_t count_wrong() const;

  Memory memory;
  std::vector<Buffer> buffers;
  std::function<void(DeviceStream)> call;  // enqueued where the memory is a device's
  std::function<int(std::size_t)> expected;
  Span result;
};

namespace {

/// Each call adds to the last one's sums, which never become infinite: half types and float stop
/// growing where what is added is lost in rounding, int32 wraps.
void set_up_add(KernelRun& run, const KernelCase& one) {
  const Span into = run.filled(one.count, one.dtype, first_input);
  const Span from = run.filled(one.count, one.dtype, second_input);
  run.result = into;
  run.expected = [](std::size_t i) { return first_input(i) + second_input(i); };
  run.call = [=](DeviceStream stream) {
    const std::array<ConstSpan, 2> both{into, from};
    combine(both, std::span(&into, 1), ReduceOp::sum, Stores::cached, stream);
  };
}

void set_up_scale(KernelRun& run, const KernelCase& one) {
  const Span values = run.filled(one.count, one.dtype, first_input);
  run.result = values;
  run.expected = [](std::size_t i) { return -first_input(i); };
  run.call = [=](DeviceStream stream) { scale(values, -1, stream); };
}

void set_up_copy(KernelRun& run, const KernelCase& one) {
  const Span from = run.filled(one.count, one.dtype, first_input);
  const Span to = run.filled(one.count, one.dtype, [](std::size_t) { return 9; });
  run.result = to;
  run.expected = first_input;
  run.call = [=](DeviceStream stream) { stream_copy(from, to, stream); };
}

void set_up_driver_copy(KernelRun& run, const KernelCase& one) {
  set_up_copy(run, one);
  const Span from = run.buffers.front().span(), to = run.result;
  run.call = [=](DeviceStream stream) { device_copy(from.data, to.data, from.bytes(), stream); };
}

void set_up_triad(KernelRun& run, const KernelCase& one) {
  const Span b = run.filled(one.count, one.dtype, first_input);
  const Span c = run.filled(one.count, one.dtype, second_input);
  const Span a = run.filled(one.count, one.dtype, [](std::size_t) { return 9; });
  run.result = a;
  run.expected = [](std::size_t i) { return first_input(i) + 3 * second_input(i); };
  run.call = [=](DeviceStream stream) { stream_triad(a, b, c, 3, stream); };
}

void set_up_cast(KernelRun& run, const KernelCase& one, DType from_type, DType to_type) {
  const Span from = run.filled(one.count, from_type, first_input);
  const Span to = run.filled(one.count, to_type, [](std::size_t) { return 9; });
  run.result = to;
  run.expected = first_input;
  run.call = [=](DeviceStream stream) { cast(from, to, stream); };
}

void set_up_pack(KernelRun& run, const KernelCase& one) {
  const Span flat = run.filled(one.count, one.dtype, [](std::size_t) { return 9; });
  const std::size_t length = one.count / kParts;
  std::vector<ConstSpan> parts;
  for (std::size_t part = 0; part < kParts; ++part) {
    parts.push_back(run.filled(length, one.dtype,
                               [=](std::size_t i) { return first_input(part * length + i); }));
  }
  run.result = flat;
  run.expected = first_input;
  run.call = [=](DeviceStream stream) { pack(parts, flat, stream); };
}

void set_up_unpack(KernelRun& run, const KernelCase& one) {
  const Span from = run.filled(one.count, one.dtype, first_input);
  const Span to = run.filled(one.count, one.dtype, [](std::size_t) { return 9; });
  const std::size_t length = one.count / kParts;
  std::vector<Span> parts;
  for (std::size_t part = 0; part < kParts; ++part) {
    parts.push_back(to.part(part * length, length));
  }
  run.result = to;
  run.expected = first_input;
  run.call = [=](DeviceStream stream) { unpack(from, parts, stream); };
}

void set_up_gemm(KernelRun& run, const KernelCase& one) {
  const std::size_t side = one.flops / (2 * one.count);
  // Constant rows times constant columns: sums that even bfloat16 holds exactly.
  const auto row = [=](std::size_t i) { return static_cast<int>(i / side % 3) - 1; };
  const auto column = [=](std::size_t i) { return static_cast<int>(i % side % 3) - 1; };
  const Span a = run.filled(one.count, one.dtype, row);
  const Span b = run.filled(one.count, one.dtype, column);
  const Span c = run.filled(one.count, one.dtype, [](std::size_t) { return 9; });
  run.result = c;
  run.expected = [=](std::size_t i) { return static_cast<int>(side) * row(i) * column(i); };
  run.call = [=](DeviceStream stream) { gemm(a, b, c, side, side, side, stream); };
}

}  // namespace

KernelRun::KernelRun(const KernelCase& one) : memory(one.memory) {
  using SetUp = void (*)(KernelRun&, const KernelCase&);
  constexpr std::array<std::pair<std::string_view, SetUp>, 10> kSetUps{
      {{"copy", &set_up_copy},
       {"memcpy", &set_up_driver_copy},
       {"triad", &set_up_triad},
       {"add", &set_up_add},
       {"scale", &set_up_scale},
       {"cast_to_float",
        [](KernelRun& run, const KernelCase& of) {
          set_up_cast(run, of, of.dtype, DType::float32);
        }},
       {"cast_from_float",
        [](KernelRun& run, const KernelCase& of) {
          set_up_cast(run, of, DType::float32, of.dtype);
        }},
       {"pack", &set_up_pack},
       {"unpack", &set_up_unpack},
       {"gemm", &set_up_gemm}}};
  for (const auto& [name, set_up] : kSetUps) {
    if (name == one.kernel) set_up(*this, one);
  }
  if (!call) fail("no kernel is called {}", one.kernel);
}

Span KernelRun::filled(std::size_t count, DType dtype,
                       const std::function<int(std::size_t)>& function) {
  buffers.emplace_back(count, dtype, memory);
  const Span to = buffers.back().span();
  const Buffer on_host(memory == Memory::host ? 0 : count, dtype);
  const Span values = memory == Memory::host ? to : on_host.span();
  in_pieces(count, [&](std::size_t first, std::size_t length) {
    std::array<std::int32_t, kPiece> integers;
    for (std::size_t i = 0; i < length; ++i) integers[i] = function(first + i);
    cast(span_of(std::span(integers).first(length)), values.part(first, length));
  });
  if (memory == Memory::device) copy(values, to);
  return to;
}

std::size_t KernelRun::count_wrong() const {
  const Buffer on_host(memory == Memory::host ? 0 : result.count, result.dtype);
  const Span values = memory == Memory::host ? result : on_host.span();
  if (memory == Memory::device) copy(result, values);
  std::atomic<std::size_t> wrong = 0;
  in_pieces(result.count, [&](std::size_t first, std::size_t length) {
    std::array<double, kPiece> doubles;
    cast(values.part(first, length), span_of(std::span(doubles).first(length)));
    std::size_t here = 0;
    for (std::size_t i = 0; i < length; ++i) here += doubles[i] != expected(first + i) ? 1 : 0;
    wrong += here;
  });
  return wrong;
}

namespace {

using Clock = std::chrono::steady_clock;

double seconds_between(Clock::time_point start, Clock::time_point stop) {
  return std::chrono::duration<double>(stop - start).count();
}

void time_on_host(benchmark::State& state, const KernelCase& one, const KernelRun& run) {
  for ([[maybe_unused]] auto iteration : state) {
    const Clock::time_point start = Clock::now();
    for (std::size_t call = 0; call < one.calls(); ++call) {
      run.call({});
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
    for (std::size_t call = 0; call < one.calls(); ++call) run.call(stream.get());
    enqueueing += local_seconds() - enqueued_from;
    calls += static_cast<double>(one.calls());
    stop.record(stream.get());
    stop.synchronize();
    state.SetIterationTime(stop.seconds_since(start));
  }
  return {{begin, local_seconds()}, enqueueing / calls};
}

}  // namespace

struct KernelTimer::Ready {
  explicit Ready(const KernelCase& one) : name(one.name()), run(one) {
    run.call({});
    if (one.memory == Memory::device) device_synchronize();
    wrong = run.count_wrong();
  }

  std::string name;
  KernelRun run;
  std::size_t wrong;  // elements, of the first call
};

KernelTimer::KernelTimer() = default;
KernelTimer::~KernelTimer() = default;

void KernelTimer::check_and_time(benchmark::State& state, const KernelCase& one,
                                 KernelStatus& status) {
  const bool on_device = one.memory == Memory::device;
  if (on_device && device_count() == 0) throw Unavailable(why_no_device());
  const ProfilerRange range(one.name().c_str());
  if (ready_ == nullptr || ready_->name != one.name()) {
    ready_.reset();  // first, as both may not fit
    ready_ = std::make_unique<Ready>(one);
  }
  if (ready_->wrong > 0) {
    status = {.status = "wrong",
              .note = fmt::format("{} of {} elements", ready_->wrong, one.count)};
    return state.SkipWithError(status.note.c_str());
  }
  if (on_device) {
    status.looks.push_back(time_on_device(state, one, ready_->run));
    return;
  }
  time_on_host(state, one, ready_->run);
}

void KernelTimer::time(benchmark::State& state, const KernelCase& one, KernelStatus& status) {
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
