// SPDX-License-Identifier: Apache-2.0
#include "kernels/combine.hpp"

#include <array>

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

}  // namespace scalebench
