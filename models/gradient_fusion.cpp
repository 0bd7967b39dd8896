// SPDX-License-Identifier: Apache-2.0
#include "models/gradient_fusion.hpp"

#include <algorithm>
#include <functional>

#include "kernels/pack.hpp"

namespace scalebench {

std::vector<std::vector<std::size_t>> fuse(const std::vector<FlatPlace>& places,
                                           std::vector<std::size_t> chosen, std::size_t bytes) {
  std::ranges::sort(chosen, std::greater<>());  // the buffer holds the last parameter first
  std::vector<std::vector<std::size_t>> messages;
  std::size_t length = 0;
  for (const std::size_t index : chosen) {
    const std::size_t more = places[index].count * sizeof(float);
    if (messages.empty() || length + more > bytes) {
      messages.emplace_back();
      length = 0;
    }
    messages.back().push_back(index);
    length += more;
  }
  return messages;
}

bool are_neighbours(const std::vector<std::size_t>& message) {
  return message.front() - message.back() + 1 == message.size();
}

FusionBuffer::FusionBuffer(const GradientSyncInputs& inputs, Span gradients, std::size_t bytes)
    : communicator_(inputs.communicator),
      buffer_(make(inputs, gradients, bytes)),
      reducer_(inputs, buffer_.span) {}

Window FusionBuffer::make(const GradientSyncInputs& inputs, Span gradients, std::size_t bytes) {
  const std::size_t count = std::clamp<std::size_t>(bytes / sizeof(float), 1, gradients.count);
  if (gradients.memory == inputs.communicator.memory()) {
    return inputs.communicator.window(count, DType::float32);
  }
  const auto buffer = std::make_shared<Buffer>(count, DType::float32, gradients.memory);
  return {buffer->span(), buffer};
}

/// On a device that the communicator does not use, LibTorch's.
DeviceStream FusionBuffer::stream() const {
  return communicator_.memory() == buffer_.span.memory ? communicator_.stream() : DeviceStream{};
}

void FusionBuffer::pack(const std::vector<Span>& parts) {
  std::size_t count = 0;
  for (const Span& part : parts) count += part.count;
  packed_ = buffer_.span.part(0, count);
  scalebench::pack(std::vector<ConstSpan>(parts.begin(), parts.end()), packed_, stream());
}

void FusionBuffer::unpack(const std::vector<Span>& parts) {
  scalebench::unpack(packed_, parts, stream());
  communicator_.wait();
}

}  // namespace scalebench
