// SPDX-License-Identifier: Apache-2.0
#include "bench/kernels/cases.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "bench/cli/quantity.hpp"

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
  if (count == 0) return std::string(kernel);
  return fmt::format("{}/{}/{}/{}", kernel, name_of(dtype), size(),
                     memory == Memory::host ? "host" : "device");
}

std::string KernelCase::size() const {
  if (count == 0) return "";
  if (kernel != "gemm") return show_size(count * size_of(dtype));
  const std::size_t side = flops / (2 * count);
  return fmt::format("{0} x {0}", side);
}

std::size_t KernelCase::calls() const {
  // 16 MiB moved take a millisecond or a tenth of one; a look at the clock takes tens of ns.
  constexpr std::size_t kBytes = 16 << 20;
  return count == 0 ? 1000 : std::clamp<std::size_t>(kBytes / std::max(bytes, flops / 16), 1, 1000);
}

std::vector<KernelCase> kernel_cases(Memory memory) {
  std::vector<KernelCase> cases;
  if (memory == Memory::host) {
    cases.push_back({.kernel = "clock", .memory = memory});
    cases.push_back({.kernel = "event_log", .memory = memory});
  }
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

}  // namespace scalebench
