// SPDX-License-Identifier: Apache-2.0
#include "bench/training/roofline.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>

#include "bench/measure/clock_sync.hpp"
#include "bench/training/options.hpp"
#include "collectives/control.hpp"
#include "kernels/buffer.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/gemm.hpp"

namespace scalebench {

// Numbers are of one device and without sparsity, which data sheets like to count twice for.

namespace {

struct Card {
  std::string_view name;                  // the first words of CUDA's name, or all of it
  std::array<double, 4> tera_per_second;  // by Precision; 0: has none, or none is published
  std::string_view source;
};

// Of two names that fit, the longer one counts: it comes first.
constexpr std::array kCards{
    Card{"NVIDIA B200", {75, 1125, 2250, 2250}, "NVIDIA HGX B200 data sheet, an eighth"},
    Card{"NVIDIA GH200", {67, 494, 990, 990}, "NVIDIA GH200 data sheet, half of sparse"},
    Card{"NVIDIA H200 NVL", {60, 417.5, 835.5, 835.5}, "NVIDIA H200 data sheet, half of sparse"},
    Card{"NVIDIA H200", {67, 494.5, 989.5, 989.5}, "NVIDIA H200 data sheet, half of sparse"},
    Card{"NVIDIA H100 NVL", {60, 417.5, 835.5, 835.5}, "NVIDIA H100 data sheet, half of sparse"},
    Card{"NVIDIA H100 PCIe", {51, 378, 756, 756}, "NVIDIA H100 data sheet (2022), half of sparse"},
    Card{"NVIDIA H100 80GB HBM3", {67, 494.5, 989.5, 989.5}, "NVIDIA H100 data sheet, half"},
    Card{"NVIDIA A100", {19.5, 156, 312, 312}, "NVIDIA A100 data sheet"},
    Card{"A100", {19.5, 156, 312, 312}, "NVIDIA A100 data sheet"},
    Card{"NVIDIA L40S", {91.6, 183, 362, 362}, "NVIDIA L40S data sheet"},
    Card{"NVIDIA L4", {30.3, 60, 121, 121}, "NVIDIA L4 data sheet, half of sparse"},
    Card{"Tesla T4", {8.1, 0, 0, 65}, "NVIDIA T4 data sheet"},
    Card{"Tesla V100-PCIE", {14, 0, 0, 112}, "NVIDIA V100 data sheet"},
    Card{"Tesla V100-SXM2", {15.7, 0, 0, 125}, "NVIDIA V100 data sheet"},
    Card{"Tesla P100-SXM2", {10.6, 0, 0, 21.2}, "NVIDIA P100 data sheet"},
    Card{"Tesla P100-PCIE", {9.3, 0, 0, 18.7}, "NVIDIA P100 data sheet"},
    Card{"Tesla K80", {4.37, 0, 0, 0}, "NVIDIA K80 data sheet: 8.74 of a board of two devices"},
};

/// An L40 is no L4.
bool begins_with_words(std::string_view name, std::string_view words) {
  if (!name.starts_with(words)) return false;
  const std::string_view rest = name.substr(words.size());
  return rest.empty() || rest.front() == ' ' || rest.front() == '-';
}

constexpr double kSecondsAKernel = 0.2;
constexpr int kFewestCalls = 3;
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

using Call = std::function<void(DeviceStream)>;

/// Seconds of the fastest call; the first is not looked at.
double best_seconds(Memory memory, const Call& call) {
  const bool on_device = memory == Memory::device;
  std::optional<OwnedStream> stream;
  std::optional<DeviceEvent> start, stop;
  if (on_device) {
    stream.emplace();
    start.emplace();
    stop.emplace();
  }
  const auto seconds_of_one = [&] {
    const double begin = local_seconds();
    if (!on_device) {
      call({});
      return local_seconds() - begin;
    }
    start->record(stream->get());
    call(stream->get());
    stop->record(stream->get());
    stop->synchronize();
    return stop->seconds_since(*start);
  };
  seconds_of_one();
  double best = std::numeric_limits<double>::infinity();
  const double end = local_seconds() + kSecondsAKernel;
  for (int calls = 0; calls < kFewestCalls || local_seconds() < end; ++calls) {
    best = std::min(best, seconds_of_one());
  }
  return best;
}

DType dtype_of(Precision precision) {
  if (precision == Precision::bfloat16) return DType::bfloat16;
  return precision == Precision::fp16 ? DType::float16 : DType::float32;
}

/// Numbers of both signs that no two rows share: a card draws less power, and so runs faster, on
/// zeros.
Buffer filled(std::size_t count, DType dtype, Memory memory) {
  const Buffer values(count, DType::float32);
  std::uint32_t state = 1;
  for (float& value : values.span().as<float>()) {
    state = state * 1664525U + 1013904223U;
    value = static_cast<float>(state >> 8U) / static_cast<float>(1U << 23U) - 1;
  }
  const Buffer narrow(count, dtype);
  cast(values.span(), narrow.span());
  Buffer result(count, dtype, memory);
  copy(narrow.span(), result.span());
  return result;
}

/// Not a number where this memory has no such product.
double flops(Memory memory, Precision precision) {
  const std::size_t side = memory == Memory::device ? 8192 : 1024;
  const DType dtype = dtype_of(precision);
  const GemmMath math = precision == Precision::tf32 ? GemmMath::tf32 : GemmMath::exact;
  if (memory == Memory::host && precision != Precision::float32) return kNone;
  const Buffer a = filled(side * side, dtype, memory), b = filled(side * side, dtype, memory);
  const Buffer c(side * side, dtype, memory);
  try {
    const double seconds = best_seconds(memory, [&](DeviceStream stream) {
      gemm(a.span(), b.span(), c.span(), side, side, side, stream, math);
    });
    return 2 * std::pow(static_cast<double>(side), 3) / seconds;
  } catch (const Unavailable&) {
    return kNone;
  }
}

}  // namespace

std::optional<double> published_flops(std::string_view device, Precision precision) {
  // "NVIDIA A100-SXM4-40GB MIG 1g.5gb": a slice has a part of the card's.
  if (device.find(" MIG ") != std::string_view::npos) return std::nullopt;
  for (const Card& card : kCards) {
    if (!begins_with_words(device, card.name)) continue;
    const double tera = card.tera_per_second.at(static_cast<std::size_t>(precision));
    if (tera > 0) return tera * 1e12;
    return std::nullopt;
  }
  return std::nullopt;
}

Roofline measure_roofline(const Ranks& ranks, const TrainerOptions& trainer,
                          const std::vector<Precision>& precisions) {
  const Memory memory = trainer.device == ComputeDevice::cuda ? Memory::device : Memory::host;
  if (memory == Memory::host) set_gemm_threads(trainer.threads);
  Roofline roofline;
  std::string why;
  // The same number of collective calls on every rank, whatever goes wrong on one.
  const auto everywhere = [&](const std::function<double()>& measure) {
    ranks.host.barrier();
    double mine = kNone;
    try {
      mine = measure();
    } catch (const Error& error) {
      why = error.what();
    }
    return all_gather(ranks.host, mine);
  };
  for (const Precision precision : precisions) {
    if (roofline.flops.contains(precision)) continue;
    const auto all = everywhere([&] { return flops(memory, precision); });
    const bool known = std::ranges::none_of(all, [](double one) { return std::isnan(one); });
    if (known) roofline.flops[precision] = all;
  }
  roofline.failure = joint_failure(ranks.host, why);
  if (!roofline.failure.empty()) return {{}, roofline.failure};
  return roofline;
}

}  // namespace scalebench
