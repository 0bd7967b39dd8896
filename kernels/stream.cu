// SPDX-License-Identifier: Apache-2.0
// Compiled without fused multiply-add (CMakeLists.txt), so that the triad equals the host's.
#include "kernels/device_kernels.hpp"
#include "kernels/device_map.cuh"

namespace scalebench::device {
namespace {

struct Same {
  __device__ std::uint16_t operator()(std::uint16_t value, std::uint16_t) const { return value; }
};

template <class Number>
struct PlusTimes {
  double factor;
  __device__ Number operator()(Number b, Number c) const {
    if constexpr (std::is_integral_v<Number>) {
      return __double2int_rn(b + factor * c);
    } else {
      return b + static_cast<Number>(factor) * c;
    }
  }
};

}  // namespace

void stream_copy(ConstSpan from, Span to, DeviceStream stream) {
  // Every dtype is a whole number of 16-bit words, and words keep the bits of a NaN.
  const auto* source = reinterpret_cast<const std::uint16_t*>(from.data);
  map(reinterpret_cast<std::uint16_t*>(to.data), source, source, from.bytes() / 2, Same{}, stream);
}

void stream_triad(Span a, ConstSpan b, ConstSpan c, double factor, DeviceStream stream) {
  with_type(a.dtype, [&]<class T>() {
    map(a.as<T>().data(), b.as<T>().data(), c.as<T>().data(), a.count,
        PlusTimes<ComputeType<T>>{factor}, stream);
  });
}

}  // namespace scalebench::device
