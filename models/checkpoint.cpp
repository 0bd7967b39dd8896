// SPDX-License-Identifier: Apache-2.0
#include "models/checkpoint.hpp"

#include <fmt/ranges.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>

#include "collectives/control.hpp"
#include "kernels/error.hpp"
#include "models/network/network.hpp"

namespace scalebench {
namespace {

// Names in the file: parameter.conv1.weight, buffer.bn.running_mean, optimizer.2.velocity.0 for
// what rank 2's optimizer remembers, and random.3.1 for the second generator of rank 3.

using Type = std::pair<std::string_view, torch::ScalarType>;
const std::array kTypes{Type{"float32", torch::kFloat32}, Type{"float64", torch::kFloat64},
                        Type{"float16", torch::kFloat16}, Type{"bfloat16", torch::kBFloat16},
                        Type{"int64", torch::kInt64},     Type{"int32", torch::kInt32},
                        Type{"uint8", torch::kUInt8},     Type{"bool", torch::kBool}};

std::string_view name_of(torch::ScalarType type) {
  for (const auto& [name, known] : kTypes) {
    if (known == type) return name;
  }
  fail("a checkpoint cannot hold tensors of type {}", torch::toString(type));
}

torch::ScalarType type_named(std::string_view wanted) {
  for (const auto& [name, type] : kTypes) {
    if (name == wanted) return type;
  }
  fail<UsageError>("the checkpoint has a tensor of unknown type '{}'", wanted);
}

StoredTensor stored(std::string name, const torch::Tensor& tensor) {
  const torch::Tensor host = tensor.detach().cpu().contiguous();
  std::string bytes(host.nbytes(), '\0');
  if (!bytes.empty()) std::memcpy(bytes.data(), host.data_ptr(), bytes.size());
  return {std::move(name), std::string(name_of(host.scalar_type())), host.sizes().vec(),
          std::move(bytes)};
}

/// Before anything of that shape is made: who writes a file may write any numbers.
bool fits(const StoredTensor& tensor, std::size_t element_bytes) {
  std::size_t bytes = element_bytes;
  for (const std::int64_t length : tensor.shape) {
    if (length < 0 || __builtin_mul_overflow(bytes, static_cast<std::size_t>(length), &bytes)) {
      return false;
    }
  }
  return bytes == tensor.bytes.size();
}

torch::Tensor tensor_of(const StoredTensor& from) {
  const torch::ScalarType type = type_named(from.dtype);
  if (!fits(from, torch::elementSize(type))) {
    fail<UsageError>("the checkpoint's tensor '{}' has {} bytes, which its shape [{}] does not fit",
                     from.name, from.bytes.size(), fmt::join(from.shape, ", "));
  }
  torch::Tensor tensor = torch::empty(from.shape, type);
  if (!from.bytes.empty()) std::memcpy(tensor.data_ptr(), from.bytes.data(), from.bytes.size());
  return tensor;
}

/// What this rank alone has: its optimizer's memory, where no other rank's stands for it, and its
/// random numbers.
std::vector<StoredTensor> state_of_rank(const Network& network, GradientSync& sync, int rank) {
  std::vector<StoredTensor> state;
  if (rank == 0 || sync.divides_optimizer()) {
    for (const auto& [name, tensor] : sync.optimizer_state()) {
      state.push_back(stored(fmt::format("optimizer.{}.{}", rank, name), tensor));
    }
  }
  for (std::size_t i = 0; const torch::Tensor& random : network.random_state()) {
    state.push_back(stored(fmt::format("random.{}.{}", rank, i++), random));
  }
  return state;
}

const StoredTensor* found(const Checkpoint& checkpoint, const std::string& name) {
  for (const StoredTensor& tensor : checkpoint.tensors) {
    if (tensor.name == name) return &tensor;
  }
  return nullptr;
}

void copy_into(const torch::Tensor& to, const Checkpoint& checkpoint, const std::string& name) {
  const StoredTensor* const from = found(checkpoint, name);
  if (from == nullptr || from->shape != to.sizes().vec()) {
    fail<UsageError>("the checkpoint has no tensor '{}' of the network's shape", name);
  }
  to.copy_(tensor_of(*from));
}

}  // namespace

Checkpoint captured(const Network& network, GradientSync& sync, Communicator& host) {
  Checkpoint mine;
  mine.tensors = state_of_rank(network, sync, host.rank());
  const std::vector<std::string> of_ranks = gather_texts(host, bytes_of(mine));
  Checkpoint checkpoint;
  if (host.rank() != 0) return checkpoint;
  for (const auto& parameter : network.named_parameters()) {
    checkpoint.tensors.push_back(stored("parameter." + parameter.key(), parameter.value()));
  }
  for (const auto& buffer : network.named_buffers()) {
    checkpoint.tensors.push_back(stored("buffer." + buffer.key(), buffer.value()));
  }
  for (const std::string& bytes : of_ranks) {
    Checkpoint of_rank = checkpoint_from(bytes);
    std::ranges::move(of_rank.tensors, std::back_inserter(checkpoint.tensors));
  }
  return checkpoint;
}

void take_over(const Checkpoint& checkpoint, Network& network, GradientSync& sync, int rank) {
  const torch::NoGradGuard no_grad;
  for (auto& parameter : network.named_parameters()) {
    copy_into(parameter.value(), checkpoint, "parameter." + parameter.key());
  }
  for (auto& buffer : network.named_buffers()) {
    copy_into(buffer.value(), checkpoint, "buffer." + buffer.key());
  }
  const std::string own = fmt::format("optimizer.{}.", sync.divides_optimizer() ? rank : 0);
  NamedTensors optimizer;
  for (const StoredTensor& tensor : checkpoint.tensors) {
    if (!tensor.name.starts_with(own)) continue;
    optimizer.emplace_back(tensor.name.substr(own.size()), tensor_of(tensor));
  }
  sync.restore_optimizer(optimizer);
  std::vector<torch::Tensor> random;
  for (std::size_t i = 0; i < network.random_state().size(); ++i) {
    const StoredTensor* const state = found(checkpoint, fmt::format("random.{}.{}", rank, i));
    if (state == nullptr) {
      fail<UsageError>("the checkpoint has no random numbers of rank {}", rank);
    }
    random.push_back(tensor_of(*state));
  }
  network.set_random_state(random);
}

}  // namespace scalebench
