// SPDX-License-Identifier: Apache-2.0
// Lays the views out, and gathers what autograd makes.
#include "models/gradients/replica.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <string_view>

#include "collectives/control.hpp"
#include "kernels/device.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/error.hpp"
#include "models/torch/compute.hpp"

namespace scalebench {
namespace {

constexpr std::size_t kAlignment = 64 / sizeof(float);

/// Places from the last parameter to the first; returns their extent.
std::size_t place(const std::vector<torch::Tensor>& parameters,
                  std::vector<FlatReplica::Place>& places) {
  places.resize(parameters.size());
  std::size_t first = 0;
  for (std::size_t left = parameters.size(); left > 0; --left) {
    const torch::Tensor& parameter = parameters[left - 1];
    if (parameter.scalar_type() != torch::kFloat32) {
      fail<UsageError>("parameters of type {}: only float32 can be synchronised",
                       c10::toString(parameter.scalar_type()));
    }
    const auto count = static_cast<std::size_t>(parameter.numel());
    places[left - 1] = {first, count};
    first += (count + kAlignment - 1) / kAlignment * kAlignment;
  }
  return first;
}

torch::Tensor tensor_of(const Window& window, torch::Device device) {
  return torch::from_blob(window.span.data, {static_cast<std::int64_t>(window.span.count)},
                          torch::TensorOptions().dtype(torch::kFloat32).device(device));
}

}  // namespace

Window window_for(std::size_t count, Memory memory, Communicator& communicator) {
  if (memory == communicator.memory()) return communicator.window(count, DType::float32);
  const auto buffer = std::make_shared<Buffer>(count, DType::float32, memory);
  return {buffer->span(), buffer};
}

FlatReplica::FlatReplica(const std::vector<torch::Tensor>& parameters, Communicator& communicator)
    : FlatReplica(parameters, communicator,
                  !parameters.empty() && parameters.front().is_cuda() ? Moves::at_once
                                                                      : Moves::as_completed) {}

FlatReplica::FlatReplica(const std::vector<torch::Tensor>& parameters, Communicator& communicator,
                         Moves moves)
    : moves_(moves), parameters_(parameters), gathered_(parameters.size()) {
  if (parameters_.empty()) fail<UsageError>("a model without trainable parameters");
  const torch::NoGradGuard no_grad;
  const torch::Device device = parameters_.front().device();
  const Memory memory = device.is_cuda() ? Memory::device : Memory::host;
  const std::size_t extent = place(parameters_, places_);
  parameter_window_ = window_for(extent, memory, communicator);
  gradient_window_ = window_for(extent, memory, communicator);
  flat_parameters_ = tensor_of(parameter_window_, device);
  flat_gradients_ = tensor_of(gradient_window_, device);
  flat_parameters_.mutable_grad() = flat_gradients_;
  gap_ = torch::zeros({static_cast<std::int64_t>(kAlignment)}, flat_gradients_.options());
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    torch::Tensor& parameter = parameters_[i];
    const auto view = [&](const torch::Tensor& flat) {
      return flat.narrow(0, static_cast<std::int64_t>(places_[i].first), parameter.numel())
          .as_strided(parameter.sizes(), parameter.strides());
    };
    const torch::Tensor mine = view(flat_parameters_);
    mine.copy_(parameter);
    parameter.set_data(mine);
    parameter.mutable_grad().reset();
    views_.push_back(view(flat_gradients_));
    hooks_.emplace_back(parameter, [this, i] { gather(i); });
  }
}

FlatReplica::~FlatReplica() {
  hooks_.clear();
  try {
    // What the device still does may be in the windows, which their owner may free at once.
    finish(flat_parameters_.device());
  } catch (const std::exception&) {
    // A device that is lost, or full: this may be the way of an exception that says more.
  }
}

void FlatReplica::begin_step() {
  for (const torch::Tensor& parameter : parameters_) parameter.mutable_grad().reset();
  gathered_.assign(gathered_.size(), false);
  left_ = gathered_.size();
  last_ = false;
}

void FlatReplica::gather(std::size_t index) {
  if (!waits()) move(index);
  if (last_ && !gathered_[index]) complete(index);
}

void FlatReplica::complete(std::size_t index) {
  gathered_[index] = true;
  if (ready_) ready_(index);
  if (--left_ == 0 && waits()) move_all();
}

void FlatReplica::move(std::size_t index) {
  torch::Tensor& gradient = parameters_[index].mutable_grad();
  if (gradient.data_ptr() == views_[index].data_ptr()) return;
  const torch::NoGradGuard no_grad;
  views_[index].copy_(gradient);
  gradient = views_[index];
}

void FlatReplica::move_all() {
  std::vector<ConstSpan> parts;
  bool whole = true;
  for (std::size_t left = parameters_.size(); left > 0 && whole; --left) {
    const std::size_t index = left - 1;
    const torch::Tensor &gradient = parameters_[index].grad(), &view = views_[index];
    // That of a parameter without part in the step is in its place.
    whole = gradient.data_ptr() != view.data_ptr() && gradient.scalar_type() == torch::kFloat32 &&
            gradient.strides() == view.strides();
    const std::size_t count = places_[index].count;
    parts.emplace_back(reinterpret_cast<const std::byte*>(gradient.data_ptr()), count,
                       DType::float32, gradients().memory);
    if (const std::size_t gap = (kAlignment - count % kAlignment) % kAlignment; gap > 0) {
      parts.emplace_back(reinterpret_cast<const std::byte*>(gap_.data_ptr()), gap, DType::float32,
                         gradients().memory);
    }
  }
  if (whole) pack(parts, gradients(), flat_gradients_.is_cuda() ? torch_stream() : DeviceStream{});
  for (std::size_t index = 0; index < parameters_.size(); ++index) {
    if (whole) {
      parameters_[index].mutable_grad() = views_[index];
    } else {
      move(index);
    }
  }
}

void FlatReplica::finish_step() {
  for (std::size_t left = parameters_.size(); left > 0; --left) {
    const std::size_t index = left - 1;
    if (gathered_[index]) continue;
    torch::Tensor& gradient = parameters_[index].mutable_grad();
    // A pass before the last one may have left a gradient.
    if (!gradient.defined()) {
      views_[index].zero_();
      gradient = views_[index];
    }
    complete(index);
  }
}

std::vector<GradientBucket> buckets_of(const std::vector<FlatPlace>& places, std::size_t extent,
                                       std::size_t first_bytes, std::size_t bucket_bytes) {
  std::vector<GradientBucket> buckets;
  GradientBucket open;
  for (std::size_t left = places.size(); left > 0; --left) {
    open.parameters.push_back(left - 1);
    const std::size_t end = left > 1 ? places[left - 2].first : extent;
    open.count = end - open.first;
    const std::size_t limit = buckets.empty() ? std::min(first_bytes, bucket_bytes) : bucket_bytes;
    if (open.count * sizeof(float) < limit && left > 1) continue;
    buckets.push_back(std::move(open));
    open = {};
    open.first = end;
  }
  return buckets;
}

ReplicaSync::ReplicaSync(const GradientSyncInputs& inputs)
    : FlatSync(inputs),
      optimizer_(make_optimizer(inputs.optimizer, {replica().flat_parameters()})) {}

bool ReplicaSync::update(double learning_rate, double gradient_scale) {
  if (!unscale(replica().flat_gradients(), gradient_scale)) return false;
  optimizer_->step(learning_rate);
  return true;
}

bool unscale(const at::Tensor& gradients, double gradient_scale) {
  if (gradient_scale == 1) return true;
  const torch::NoGradGuard no_grad;
  const torch::Tensor sum = gradients.sum();  // one pass; infinities that cancel give no number
  if (!std::isfinite(sum.item<float>())) return false;
  gradients.mul_(1 / gradient_scale);
  return true;
}

std::uint64_t hash_of(const Network& network) {
  std::uint64_t hash = 0;
  const auto add = [&](const torch::Tensor& tensor) {
    const torch::Tensor host = tensor.detach().cpu().contiguous();
    const std::string_view bytes(static_cast<const char*>(host.data_ptr()), host.nbytes());
    hash = std::rotl(hash, 29) ^ std::hash<std::string_view>{}(bytes);
  };
  for (const auto& parameter : network.parameters()) add(parameter);
  for (const auto& buffer : network.buffers()) add(buffer);
  return hash;
}

bool replicas_equal(const Network& network, Communicator& host) {
  const auto hashes = all_gather(host, fmt::format("{:016x}", hash_of(network)));
  return std::all_of(hashes.begin(), hashes.end(),
                     [&](const std::string& hash) { return hash == hashes.front(); });
}

void broadcast_buffers(Network& network, Communicator& host) {
  const torch::NoGradGuard no_grad;
  if (host.size() == 1) return;
  std::vector<torch::Tensor> parts;
  for (const auto& buffer : network.buffers()) {
    parts.push_back(buffer.flatten().contiguous().view(torch::kUInt8));
  }
  if (parts.empty()) return;
  const torch::Tensor all = torch::cat(parts).cpu();
  broadcast_bytes(host, {static_cast<std::byte*>(all.data_ptr()), all.nbytes()}, 0);
  if (host.rank() == 0) return;
  std::int64_t first = 0;
  for (auto& buffer : network.buffers()) {
    const auto bytes = static_cast<std::int64_t>(buffer.nbytes());
    // A copy of their own lies where numbers of any type may.
    const torch::Tensor part = all.narrow(0, first, bytes).clone();
    buffer.copy_(part.view(buffer.scalar_type()).view(buffer.sizes()));
    first += bytes;
  }
}

Span span_of_tensor(const torch::Tensor& tensor) {
  static constexpr std::array kTypes{
      std::pair(torch::kFloat32, DType::float32), std::pair(torch::kFloat64, DType::float64),
      std::pair(torch::kInt32, DType::int32), std::pair(torch::kFloat16, DType::float16),
      std::pair(torch::kBFloat16, DType::bfloat16)};
  const auto type =
      std::ranges::find(kTypes, tensor.scalar_type(), &std::pair<torch::ScalarType, DType>::first);
  if (type == kTypes.end()) {
    fail("tensors of type {} cannot be sent", c10::toString(tensor.scalar_type()));
  }
  if (!tensor.is_contiguous()) fail("a tensor that is sent must be contiguous");
  return {static_cast<std::byte*>(tensor.data_ptr()), static_cast<std::size_t>(tensor.numel()),
          type->second, tensor.is_cuda() ? Memory::device : Memory::host};
}

void broadcast_tensor(StagedExchange& ranks, torch::Tensor& tensor, int root) {
  if (tensor.scalar_type() == torch::kFloat32 && tensor.is_contiguous()) {
    return ranks.broadcast(span_of_tensor(tensor), root);
  }
  const torch::Tensor sent = tensor.to(torch::kFloat64).contiguous();
  ranks.broadcast(span_of_tensor(sent), root);
  tensor.copy_(sent);
}

WireBuffer::WireBuffer(Communicator& communicator, Span flat, DType wire)
    : communicator_(communicator), flat_(flat), full_(flat) {
  if (flat.memory != communicator.memory()) {
    staging_ = communicator.window(flat.count, flat.dtype);
    full_ = staging_.span;
  }
  if (wire != DType::float32) narrow_ = communicator.window(flat.count, wire);
}

void WireBuffer::load(Range range) {
  // The communicator has a stream of its own, which knows nothing of LibTorch's.
  if (flat_.memory == Memory::device) device_synchronize();
  const Span part = full_.part(range.first, range.count);
  if (staging_.owner) copy(flat_.part(range.first, range.count), part);
  if (narrow_.owner) {
    cast(part, narrow_.span.part(range.first, range.count), communicator_.stream());
  }
}

void WireBuffer::store(Range range) {
  const Span part = full_.part(range.first, range.count);
  if (narrow_.owner) {
    cast(narrow_.span.part(range.first, range.count), part, communicator_.stream());
  }
  communicator_.wait();
  if (staging_.owner) copy(part, flat_.part(range.first, range.count));
}

}  // namespace scalebench
