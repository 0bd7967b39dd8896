// SPDX-License-Identifier: Apache-2.0
// The cases that a command line stands for, their names and their order.
#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <set>
#include <tuple>
#include <utility>

#include "bench/allreduce/options.hpp"
#include "bench/cli/quantity.hpp"

namespace scalebench {

std::string AllreducePlace::described() const {
  std::string text = transport;
  if (!registered_as_ever()) text += fmt::format(" --register {}", name_of(*registration));
  return text;
}

std::string canonical(const AllreduceCase& one, const AllreducePlace& place,
                      const AllreduceMethod& method) {
  // What has been measured keeps its name: buffers on the host are in pages that nothing asks for,
  // and NCCL is told of them as it can be.
  std::string chosen = place.memory == Memory::host ? " pages=default" : "";
  if (!place.registered_as_ever()) {
    chosen += fmt::format(" register={}", name_of(*place.registration));
  }
  return fmt::format(
      "allreduce algorithm={} transport={} memory={}{} dtype={} op={} placement={} mode={} "
      "cache={} graph={} count={}",
      one.algorithm->name, place.transport, name_of(place.memory), chosen, name_of(one.dtype),
      name_of(one.op), one.placement(), one.mode(), name_of(method.cache), method.graph ? 1 : 0,
      one.count);
}

std::string title_of(const AllreduceCase& one, const AllreducePlace& place) {
  return fmt::format("{} on {} {} {} {}", one.algorithm->name, place.described(),
                     name_of(one.dtype), name_of(one.op), show_size(one.bytes()));
}

std::string_view name_of(Memory memory) { return memory == Memory::host ? "host" : "device"; }

std::vector<std::size_t> sizes_of(const AllreduceOptions& options) {
  std::vector<std::size_t> sizes;
  for (std::size_t bytes = options.min_bytes; bytes <= options.max_bytes;) {
    sizes.push_back(bytes);
    const std::size_t next = bytes * options.step_factor;
    if (next <= bytes) break;
    bytes = next;
  }
  return sizes;
}

std::vector<AllreduceCase> plan_of(const AllreduceOptions& options, std::size_t transports) {
  std::mt19937_64 random(options.seed);
  const auto shuffle = [&](auto& list) {
    for (std::size_t i = list.size(); options.shuffle && i > 1; --i) {
      std::swap(list[i - 1], list[random() % i]);
    }
  };
  AllreduceCase one;
  std::vector<AllreduceCase> blocks;
  std::set<std::tuple<ReduceOp, DType, std::size_t, bool, bool>> known;
  for (const ReduceOp op : options.ops) {
    for (const DType dtype : options.dtypes) {
      for (const std::size_t bytes : sizes_of(options)) {
        for (const bool pipelined : options.pipelined) {
          for (const bool in_place : options.in_place) {
            one.op = op;
            one.dtype = dtype;
            one.count = bytes / size_of(dtype);
            one.pipelined = pipelined;
            one.in_place = in_place;
            // Sizes that are less than an element are one.
            const bool is_new = known.emplace(op, dtype, one.count, pipelined, in_place).second;
            if (is_new) blocks.push_back(one);
          }
        }
      }
    }
  }
  shuffle(blocks);
  std::vector<AllreduceCase> plan;
  for (const AllreduceCase& block : blocks) {
    std::vector<AllreduceCase> compared;
    for (const AllreduceAlgorithm* algorithm : options.algorithms) {
      for (std::size_t transport = 0; transport < transports; ++transport) {
        compared.push_back(block);
        compared.back().algorithm = algorithm;
        compared.back().transport = transport;
      }
    }
    shuffle(compared);
    plan.insert(plan.end(), compared.begin(), compared.end());
  }
  return plan;
}

double stop_seconds_of(const AllreduceOptions& options, const std::vector<AllreduceCase>& plan) {
  if (options.max_seconds) return *options.max_seconds;
  constexpr std::size_t kLong = std::size_t{1} << 20U;  // shorter cases converge before any cap
  constexpr double kPlanSeconds = 120, kLeast = 0.5, kMost = 5;
  const auto cases =
      std::ranges::count_if(plan, [](const AllreduceCase& one) { return one.bytes() >= kLong; });
  return std::clamp(kPlanSeconds / static_cast<double>(cases), kLeast, kMost);
}

}  // namespace scalebench
