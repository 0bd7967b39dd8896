// SPDX-License-Identifier: Apache-2.0
#include "kernels/device_kernels.hpp"
#include "kernels/device_map.cuh"

namespace scalebench::device {
namespace {

/// number.hpp's rounded_to_odd with the device's own truncating conversion.
__device__ float truncated_to_odd(double value) {
  const float below = __double2float_rz(value);
  const bool lost = static_cast<double>(below) != value;
  return __uint_as_float(__float_as_uint(below) | (lost ? 1U : 0U));
}

template <class To, class From>
struct Convert {
  __device__ ComputeType<To> operator()(ComputeType<From> value, ComputeType<From>) const {
    if constexpr (std::is_same_v<To, std::int32_t> && !std::is_same_v<From, std::int32_t>) {
      // __double2int_rn saturates; what it makes of a NaN is not the 0 that cast.hpp promises.
      return value == value ? __double2int_rn(static_cast<double>(value)) : 0;
    } else if constexpr (kStoredOnly<To> && !std::is_same_v<ComputeType<From>, float>) {
      return truncated_to_odd(static_cast<double>(value));
    } else {
      return static_cast<ComputeType<To>>(value);
    }
  }
};

}  // namespace

void cast(ConstSpan from, Span to, DeviceStream stream) {
  if (from.dtype == to.dtype) return stream_copy(from, to, stream);
  with_type(from.dtype, [&]<class From>() {
    with_type(to.dtype, [&]<class To>() {
      const From* source = from.as<From>().data();
      map(to.as<To>().data(), source, source, to.count, Convert<To, From>{}, stream);
    });
  });
}

}  // namespace scalebench::device
