// SPDX-License-Identifier: Apache-2.0
#include "kernels/device_kernels.hpp"
#include "kernels/device_map.cuh"

namespace scalebench::device {
namespace {

struct Plus {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return a + b;
  }
  __device__ std::int32_t operator()(std::int32_t a, std::int32_t b) const {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(b));
  }
};

}  // namespace

void add(Span into, ConstSpan from, DeviceStream stream) {
  with_type(into.dtype, [&]<class T>() {
    T* sum = into.as<T>().data();
    map(sum, sum, from.as<T>().data(), into.count, Plus{}, stream);
  });
}

}  // namespace scalebench::device
