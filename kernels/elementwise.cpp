// SPDX-License-Identifier: Apache-2.0
#include "kernels/elementwise.hpp"

#include <array>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "kernels/buffer.hpp"
#include "kernels/device_kernels.hpp"
#include "kernels/error.hpp"
#include "kernels/host_loop.hpp"

namespace scalebench {
namespace {

constexpr std::size_t kMostSources = 1024;

void require_combinable(std::span<const ConstSpan> from, std::span<const Span> to, ReduceOp op) {
  if (op == ReduceOp::avg) fail("combine: avg is a sum and a scale");
  if (from.empty() || from.size() > kMostSources || to.size() > kMostSources) {
    fail("combine: {} sources and {} destinations", from.size(), to.size());
  }
  const auto require_like_first = [&](ConstSpan span) {
    const ConstSpan first = from.front();
    if (span.count != first.count || span.dtype != first.dtype || span.memory != first.memory) {
      fail("combine: spans differ: {} and {}", describe(first), describe(span));
    }
  };
  for (const ConstSpan source : from) require_like_first(source);
  for (const Span destination : to) require_like_first(destination);
}

template <ReduceOp op>
void combine_on_host(std::span<const ConstSpan> from, std::span<const Span> to, Stores stores) {
  with_type(from.front().dtype, [&]<class T>() {
    std::array<const T*, kMostSources> sources;
    std::array<T*, kMostSources> destinations;
    for (std::size_t k = 0; k < from.size(); ++k) sources[k] = from[k].as<T>().data();
    for (std::size_t j = 0; j < to.size(); ++j) destinations[j] = to[j].as<T>().data();
    host::combine<op, T>(std::span(sources).first(from.size()),
                         std::span(destinations).first(to.size()), from.front().count, stores);
  });
}

template <class To, class From>
struct Convert {
  ComputeType<To> operator()(ComputeType<From> value, ComputeType<From> /*unused*/) const {
    return converted<To, From>(value);
  }
};

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

void combine(std::span<const ConstSpan> from, std::span<const Span> to, ReduceOp op, Stores stores,
             DeviceStream stream) {
  require_combinable(from, to, op);
  if (from.front().empty() || to.empty()) return;
  if (from.front().memory == Memory::device) return device::combine(from, to, op, stream);
  switch (op) {
    case ReduceOp::prod:
      return combine_on_host<ReduceOp::prod>(from, to, stores);
    case ReduceOp::min:
      return combine_on_host<ReduceOp::min>(from, to, stores);
    case ReduceOp::max:
      return combine_on_host<ReduceOp::max>(from, to, stores);
    default:
      return combine_on_host<ReduceOp::sum>(from, to, stores);
  }
}

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

void scale(Span values, double factor, DeviceStream stream) {
  if (values.memory == Memory::device) return device::scale(values, factor, stream);
  with_type(values.dtype, [&]<class T>() {
    T* all = values.as<T>().data();
    host::map(all, all, all, values.count, Times<ComputeType<T>>{factor});
  });
}

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
