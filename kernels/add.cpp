// SPDX-License-Identifier: Apache-2.0
#include "kernels/add.hpp"

#include <type_traits>

#include "kernels/device_kernels.hpp"
#include "kernels/host_map.hpp"
#include "kernels/span_check.hpp"

namespace scalebench {
namespace {

/// Signed overflow is undefined in C++ and wraps in every collective library.
struct Plus {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      using Unsigned = std::make_unsigned_t<T>;
      return static_cast<T>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b));
    } else {
      return a + b;
    }
  }
};

}  // namespace

void add(Span into, ConstSpan from, DeviceStream stream) {
  require_alike("add", into, from);
  if (into.memory == Memory::device) return device::add(into, from, stream);
  with_type(into.dtype, [&]<class T>() {
    T* sum = into.as<T>().data();
    host::map(sum, sum, from.as<T>().data(), into.count, Plus{});
  });
}

}  // namespace scalebench
