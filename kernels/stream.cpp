// SPDX-License-Identifier: Apache-2.0
#include "kernels/stream.hpp"

#include <cstring>
#include <type_traits>

#include "kernels/device_kernels.hpp"
#include "kernels/host_map.hpp"
#include "kernels/span_check.hpp"

namespace scalebench {
namespace {

template <class Number>
struct PlusTimes {
  double factor;
  Number operator()(Number b, Number c) const {
    if constexpr (std::is_integral_v<Number>) {
      return nearest_int32(b + factor * c);
    } else {
      return b + static_cast<Number>(factor) * c;
    }
  }
};

}  // namespace

void stream_copy(ConstSpan from, Span to, DeviceStream stream) {
  require_alike("stream_copy", from, to);
  if (from.empty() || from.data == to.data) return;
  if (from.memory == Memory::device) return device::stream_copy(from, to, stream);
  std::memcpy(to.data, from.data, to.bytes());
}

void stream_triad(Span a, ConstSpan b, ConstSpan c, double factor, DeviceStream stream) {
  require_alike("stream_triad", a, b);
  require_alike("stream_triad", a, c);
  if (a.memory == Memory::device) return device::stream_triad(a, b, c, factor, stream);
  with_type(a.dtype, [&]<class T>() {
    host::map(a.as<T>().data(), b.as<T>().data(), c.as<T>().data(), a.count,
              PlusTimes<ComputeType<T>>{factor});
  });
}

}  // namespace scalebench
