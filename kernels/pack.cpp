// SPDX-License-Identifier: Apache-2.0
#include "kernels/pack.hpp"

#include <cstring>
#include <string_view>

#include "kernels/device_kernels.hpp"
#include "kernels/error.hpp"
#include "kernels/span_check.hpp"

namespace scalebench {
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

}  // namespace scalebench
