// SPDX-License-Identifier: Apache-2.0
#include "kernels/elementwise.hpp"

#include <cstring>
#include <string_view>
#include <type_traits>

#include "kernels/buffer.hpp"
#include "kernels/device_kernels.hpp"
#include "kernels/error.hpp"
#include "kernels/host_loop.hpp"

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

namespace {

template <class Part>
void require_parts(std::string_view kernel, std::span<const Part> parts, ConstSpan flat) {
  std::size_t sum = 0;
  for (const Part& part : parts) {
    if (part.dtype != flat.dtype) {
      fail("{}: spans differ: {} and {}", kernel, describe(part), describe(flat));
    }
    require_apart(kernel, part, flat);
    sum += part.count;
  }
  if (sum != flat.count) {
    fail("{}: {} parts with {} elements for {}", kernel, parts.size(), sum, describe(flat));
  }
}

}  // namespace

void pack(std::span<const ConstSpan> parts, Span flat, DeviceStream stream) {
  require_parts("pack", parts, flat);
  if (flat.memory == Memory::device) return device::pack(parts, flat, stream);
  std::byte* to = flat.data;
  for (const ConstSpan& part : parts) {
    if (part.empty()) continue;  // its pointer may be null
    std::memcpy(to, part.data, part.bytes());
    to += part.bytes();
  }
}

void unpack(ConstSpan flat, std::span<const Span> parts, DeviceStream stream) {
  require_parts("unpack", parts, flat);
  if (flat.memory == Memory::device) return device::unpack(flat, parts, stream);
  const std::byte* from = flat.data;
  for (const Span& part : parts) {
    if (part.empty()) continue;
    std::memcpy(part.data, from, part.bytes());
    from += part.bytes();
  }
}

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
