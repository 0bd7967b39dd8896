// SPDX-License-Identifier: Apache-2.0
#include "bench/kernels/run.hpp"

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "kernels/elementwise.hpp"
#include "kernels/error.hpp"
#include "kernels/gemm.hpp"

namespace scalebench {
namespace {

constexpr std::size_t kParts = 16;  // of one pack

int first_input(std::size_t i) { return static_cast<int>(i % 7) - 3; }
int second_input(std::size_t i) { return static_cast<int>(i % 5) - 2; }

}  // namespace

/// How each kernel is set up; a friend that can fill a KernelRun.
struct KernelSetup {
  static void add(KernelRun& run, const KernelCase& one) {
    const Span into = run.filled(one.count, one.dtype, first_input);
    const Span from = run.filled(one.count, one.dtype, second_input);
    run.result_ = into;
    run.expected_ = [](std::size_t i) { return first_input(i) + second_input(i); };
    run.call_ = [=](DeviceStream stream) {
      const std::array<ConstSpan, 2> both{into, from};
      combine(both, std::span(&into, 1), ReduceOp::sum, Stores::cached, stream);
    };
  }
  static void scale(KernelRun& run, const KernelCase& one) {
    const Span values = run.filled(one.count, one.dtype, first_input);
    run.result_ = values;
    run.expected_ = [](std::size_t i) { return -first_input(i); };
    run.call_ = [=](DeviceStream stream) { scalebench::scale(values, -1, stream); };
  }
  static void copy(KernelRun& run, const KernelCase& one) {
    const Span from = run.filled(one.count, one.dtype, first_input);
    const Span to = run.filled(one.count, one.dtype, [](std::size_t) { return 9; });
    run.result_ = to;
    run.expected_ = first_input;
    run.call_ = [=](DeviceStream stream) { stream_copy(from, to, stream); };
  }
  static void driver_copy(KernelRun& run, const KernelCase& one) {
    copy(run, one);
    const Span from = run.buffers_.front().span(), to = run.result_;
    run.call_ = [=](DeviceStream stream) { device_copy(from.data, to.data, from.bytes(), stream); };
  }
  static void triad(KernelRun& run, const KernelCase& one) {
    const Span b = run.filled(one.count, one.dtype, first_input);
    const Span c = run.filled(one.count, one.dtype, second_input);
    const Span a = run.filled(one.count, one.dtype, [](std::size_t) { return 9; });
    run.result_ = a;
    run.expected_ = [](std::size_t i) { return first_input(i) + 3 * second_input(i); };
    run.call_ = [=](DeviceStream stream) { stream_triad(a, b, c, 3, stream); };
  }
  static void cast(KernelRun& run, const KernelCase& one, DType from_type, DType to_type) {
    const Span from = run.filled(one.count, from_type, first_input);
    const Span to = run.filled(one.count, to_type, [](std::size_t) { return 9; });
    run.result_ = to;
    run.expected_ = first_input;
    run.call_ = [=](DeviceStream stream) { scalebench::cast(from, to, stream); };
  }
  static void widen(KernelRun& run, const KernelCase& one) {
    cast(run, one, one.dtype, DType::float32);
  }
  static void narrow(KernelRun& run, const KernelCase& one) {
    cast(run, one, DType::float32, one.dtype);
  }
  static void pack(KernelRun& run, const KernelCase& one) {
    const Span flat = run.filled(one.count, one.dtype, [](std::size_t) { return 9; });
    const std::size_t length = one.count / kParts;
    std::vector<ConstSpan> parts;
    for (std::size_t part = 0; part < kParts; ++part) {
      parts.push_back(run.filled(length, one.dtype,
                                 [=](std::size_t i) { return first_input(part * length + i); }));
    }
    run.result_ = flat;
    run.expected_ = first_input;
    run.call_ = [=](DeviceStream stream) { scalebench::pack(parts, flat, stream); };
  }
  static void unpack(KernelRun& run, const KernelCase& one) {
    const Span from = run.filled(one.count, one.dtype, first_input);
    const Span to = run.filled(one.count, one.dtype, [](std::size_t) { return 9; });
    const std::size_t length = one.count / kParts;
    std::vector<Span> parts;
    for (std::size_t part = 0; part < kParts; ++part) {
      parts.push_back(to.part(part * length, length));
    }
    run.result_ = to;
    run.expected_ = first_input;
    run.call_ = [=](DeviceStream stream) { scalebench::unpack(from, parts, stream); };
  }
  static void gemm(KernelRun& run, const KernelCase& one) {
    const std::size_t side = one.flops / (2 * one.count);
    // Constant rows times constant columns: sums that even bfloat16 holds exactly.
    const auto row = [=](std::size_t i) { return static_cast<int>(i / side % 3) - 1; };
    const auto column = [=](std::size_t i) { return static_cast<int>(i % side % 3) - 1; };
    const Span a = run.filled(one.count, one.dtype, row);
    const Span b = run.filled(one.count, one.dtype, column);
    const Span c = run.filled(one.count, one.dtype, [](std::size_t) { return 9; });
    run.result_ = c;
    run.expected_ = [=](std::size_t i) { return static_cast<int>(side) * row(i) * column(i); };
    run.call_ = [=](DeviceStream stream) { scalebench::gemm(a, b, c, side, side, side, stream); };
  }
};

KernelRun::KernelRun(const KernelCase& one) : memory_(one.memory) {
  using SetUp = void (*)(KernelRun&, const KernelCase&);
  static constexpr std::array<std::pair<std::string_view, SetUp>, 10> kSetUps{
      {{"copy", &KernelSetup::copy},
       {"memcpy", &KernelSetup::driver_copy},
       {"triad", &KernelSetup::triad},
       {"add", &KernelSetup::add},
       {"scale", &KernelSetup::scale},
       {"cast_to_float", &KernelSetup::widen},
       {"cast_from_float", &KernelSetup::narrow},
       {"pack", &KernelSetup::pack},
       {"unpack", &KernelSetup::unpack},
       {"gemm", &KernelSetup::gemm}}};
  for (const auto& [name, set_up] : kSetUps) {
    if (name == one.kernel) set_up(*this, one);
  }
  if (!call_) fail("no kernel is called {}", one.kernel);
}

Span KernelRun::filled(std::size_t count, DType dtype,
                       const std::function<int(std::size_t)>& function) {
  const Buffer integers(count, DType::int32);
  const Buffer host(count, dtype);
  const auto values = integers.span().as<std::int32_t>();
  for (std::size_t i = 0; i < count; ++i) values[i] = function(i);
  cast(integers.span(), host.span());
  buffers_.emplace_back(count, dtype, memory_);
  copy(host.span(), buffers_.back().span());
  return buffers_.back().span();
}

std::size_t KernelRun::count_wrong() const {
  if (result_.empty()) return 0;
  const Buffer host(result_.count, result_.dtype);
  const Buffer doubles(result_.count, DType::float64);
  copy(result_, host.span());
  cast(host.span(), doubles.span());
  const auto values = doubles.span().as<double>();
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < values.size(); ++i) wrong += values[i] != expected_(i) ? 1 : 0;
  return wrong;
}

}  // namespace scalebench
