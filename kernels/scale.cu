// SPDX-License-Identifier: Apache-2.0
#include "kernels/device_kernels.hpp"
#include "kernels/device_map.cuh"

namespace scalebench::device {
namespace {

template <class Number>
struct Times {
  double factor;
  __device__ Number operator()(Number value, Number /*unused*/) const {
    if constexpr (std::is_integral_v<Number>) {
      return __double2int_rn(factor * value);
    } else {
      return static_cast<Number>(factor) * value;
    }
  }
};

}  // namespace

void scale(Span values, double factor, DeviceStream stream) {
  with_type(values.dtype, [&]<class T>() {
    T* all = values.as<T>().data();
    map(all, all, all, values.count, Times<ComputeType<T>>{factor}, stream);
  });
}

}  // namespace scalebench::device
