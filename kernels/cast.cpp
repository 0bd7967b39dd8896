// SPDX-License-Identifier: Apache-2.0
#include "kernels/cast.hpp"

#include <cstring>

#include "kernels/device_kernels.hpp"
#include "kernels/host_map.hpp"
#include "kernels/span_check.hpp"

namespace scalebench {
namespace {

template <class To, class From>
struct Convert {
  ComputeType<To> operator()(ComputeType<From> value, ComputeType<From> /*unused*/) const {
    return converted<To, From>(value);
  }
};

}  // namespace

void cast(ConstSpan from, Span to, DeviceStream stream) {
  require_same_count("cast", from, to);
  if (from.empty() || (from.dtype == to.dtype && from.data == to.data)) return;
  if (from.memory == Memory::device) return device::cast(from, to, stream);
  if (from.dtype == to.dtype) {
    std::memcpy(to.data, from.data, to.bytes());
    return;
  }
  with_type(from.dtype, [&]<class From>() {
    with_type(to.dtype, [&]<class To>() {
      const From* source = from.as<From>().data();
      host::map(to.as<To>().data(), source, source, to.count, Convert<To, From>{});
    });
  });
}

}  // namespace scalebench
