// SPDX-License-Identifier: Apache-2.0
#include "kernels/scale.hpp"

#include <type_traits>

#include "kernels/device_kernels.hpp"
#include "kernels/host_map.hpp"

namespace scalebench {
namespace {

template <class Number>
struct Times {
  double factor;
  Number operator()(Number value, Number /*unused*/) const {
    if constexpr (std::is_integral_v<Number>) {
      return nearest_int32(factor * value);
    } else {
      return static_cast<Number>(factor) * value;
    }
  }
};

}  // namespace

void scale(Span values, double factor, DeviceStream stream) {
  if (values.memory == Memory::device) return device::scale(values, factor, stream);
  with_type(values.dtype, [&]<class T>() {
    T* all = values.as<T>().data();
    host::map(all, all, all, values.count, Times<ComputeType<T>>{factor});
  });
}

}  // namespace scalebench
