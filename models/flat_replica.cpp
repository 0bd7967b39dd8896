// SPDX-License-Identifier: Apache-2.0
// Lays the views out, and gathers what autograd makes.
#include "models/flat_replica.hpp"

#include "kernels/buffer.hpp"
#include "kernels/error.hpp"

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

Window window_for(std::size_t count, Memory memory, Communicator& communicator) {
  if (memory == communicator.memory()) return communicator.window(count, DType::float32);
  const auto buffer = std::make_shared<Buffer>(count, DType::float32, memory);
  return {buffer->span(), buffer};
}

torch::Tensor tensor_of(const Window& window, torch::Device device) {
  return torch::from_blob(window.span.data, {static_cast<std::int64_t>(window.span.count)},
                          torch::TensorOptions().dtype(torch::kFloat32).device(device));
}

}  // namespace

/// Runs when a gradient has been accumulated.
struct FlatReplica::Hook final : torch::autograd::FunctionPostHook {
  Hook(FlatReplica& owner, std::size_t which) : replica(owner), index(which) {}
  torch::autograd::variable_list operator()(const torch::autograd::variable_list& outputs,
                                            const torch::autograd::variable_list&) override {
    replica.gather(index);
    return outputs;
  }
  FlatReplica& replica;
  std::size_t index;
};

FlatReplica::FlatReplica(const std::vector<torch::Tensor>& parameters, Communicator& communicator)
    : parameters_(parameters), gathered_(parameters.size()) {
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
    const auto accumulator = torch::autograd::impl::grad_accumulator(parameter);
    hooks_.push_back(accumulator->add_post_hook(std::make_unique<Hook>(*this, i)));
    accumulators_.push_back(accumulator);
  }
}

FlatReplica::~FlatReplica() {
  const torch::NoGradGuard no_grad;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    accumulators_[i]->del_post_hook(hooks_[i]);
    parameters_[i].set_data(parameters_[i].detach().clone());
    parameters_[i].mutable_grad().reset();
  }
  flat_parameters_.mutable_grad().reset();
}

void FlatReplica::begin_step() {
  for (const torch::Tensor& parameter : parameters_) parameter.mutable_grad().reset();
  gathered_.assign(gathered_.size(), false);
  last_ = false;
}

void FlatReplica::gather(std::size_t index) {
  torch::Tensor& gradient = parameters_[index].mutable_grad();
  if (gradient.data_ptr() != views_[index].data_ptr()) {
    const torch::NoGradGuard no_grad;
    views_[index].copy_(gradient);
    gradient = views_[index];
  }
  if (!last_) return;
  gathered_[index] = true;
  if (ready_) ready_(index);
}

void FlatReplica::finish_step() {
  for (std::size_t left = parameters_.size(); left > 0; --left) {
    const std::size_t index = left - 1;
    if (gathered_[index]) continue;
    torch::Tensor& gradient = parameters_[index].mutable_grad();
    // A pass before the last one may have left a gradient in place.
    if (!gradient.defined()) {
      views_[index].zero_();
      gradient = views_[index];
    }
    gathered_[index] = true;
    if (ready_) ready_(index);
  }
}

}  // namespace scalebench
