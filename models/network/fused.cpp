// SPDX-License-Identifier: Apache-2.0
#include "models/network/fused.hpp"

#include <torch/csrc/autograd/custom_function.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/pooling.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/error.hpp"
#include "kernels/layers/input.hpp"
#include "kernels/layers/norm.hpp"
#include "kernels/layers/pool.hpp"
#include "models/torch/compute.hpp"
#include "models/torch/device.hpp"

namespace scalebench {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Channels last, at an address that 16-byte words need.
torch::Tensor in_rows(const torch::Tensor& x) {
  const auto last = x.dim() == 4 ? x.contiguous(torch::MemoryFormat::ChannelsLast) : x.contiguous();
  const bool aligned = reinterpret_cast<std::uintptr_t>(last.data_ptr()) % 16 == 0;
  return aligned ? last : last.clone();
}

DType type_of(const torch::Tensor& x) {
  if (x.scalar_type() == torch::kFloat32) return DType::float32;
  if (x.scalar_type() == torch::kBFloat16) return DType::bfloat16;
  fail("fused layers are float32 or bfloat16, not {}", c10::toString(x.scalar_type()));
}

/// `x`: in rows.
Activations shape_of(const torch::Tensor& x) {
  const auto channels = static_cast<std::size_t>(x.size(1));
  const auto numbers = static_cast<std::size_t>(x.numel());
  return {channels == 0 ? 0 : numbers / channels, channels, type_of(x)};
}

torch::Tensor floats(std::size_t count, const torch::Tensor& like) {
  return torch::empty({static_cast<std::int64_t>(count)},
                      like.options().dtype(torch::kFloat32).requires_grad(false));
}

torch::Tensor bits_for(const torch::Tensor& x) {
  return torch::empty({x.numel() / kWide}, x.options().dtype(torch::kUInt8).requires_grad(false));
}

torch::Tensor room_like(const torch::Tensor& x) {
  return torch::empty_like(x, x.options().requires_grad(false));
}

std::uint8_t* bytes_of(const torch::Tensor& bits) {
  return bits.defined() ? bits.data_ptr<std::uint8_t>() : nullptr;
}

Grid grid_of(const torch::Tensor& x, const Activations& shape) {
  return x.is_cuda() ? device::layer_grid(shape) : host_grid(shape);
}

// Keys of what a layer leaves to its backward pass, and Split to it.
constexpr const char* kTail = "tail";
constexpr const char* kTraining = "training";
constexpr const char* kShape = "shape";
constexpr const char* kSecond = "second gradient";

/// What Split has left, in rows; not defined where it has left nothing.
torch::Tensor take_second(AutogradContext& context) {
  const auto left = context.saved_data.find(kSecond);
  if (left == context.saved_data.end()) return {};
  const torch::Tensor second = left->second.toTensor();
  context.saved_data.erase(kSecond);
  return in_rows(second);
}

/// What a normalisation is besides its tensors.
struct Way {
  Tail tail;
  bool training;
  bool differentiable;  // a backward pass may follow
  double momentum;
  double epsilon;
};

class Norm : public torch::autograd::Function<Norm> {
 public:
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& given,
                               const torch::Tensor& weight, const torch::Tensor& bias,
                               const torch::Tensor& running_mean,
                               const torch::Tensor& running_variance, const torch::Tensor& batches,
                               const Way& way, torch::TensorList added) {
    const torch::Tensor x = in_rows(given);
    const torch::Tensor beside = added.empty() ? torch::Tensor() : in_rows(added.front());
    const Activations shape = shape_of(x);
    require_layer(shape);
    if (beside.defined() && (beside.sizes() != x.sizes() || type_of(beside) != shape.dtype)) {
      fail("what is added to a normalised tensor has another shape or type");
    }
    const Grid grid = grid_of(x, shape);
    torch::Tensor y = room_like(x);
    const torch::Tensor numbers = floats(kNormNumbers * shape.channels, x);
    const torch::Tensor scratch = floats(scratch_floats(shape, grid), x);
    const bool keeps_bits = way.differentiable && way.tail == Tail::add_relu;
    const torch::Tensor bits = keeps_bits ? bits_for(x) : torch::Tensor();
    const NormForward layer{.shape = shape,
                            .tail = way.tail,
                            .training = way.training,
                            .x = x.data_ptr(),
                            .beside = beside.defined() ? beside.data_ptr() : nullptr,
                            .y = y.data_ptr(),
                            .positive = bytes_of(bits),
                            .weight = weight.data_ptr<float>(),
                            .bias = bias.data_ptr<float>(),
                            .running_mean = running_mean.data_ptr<float>(),
                            .running_variance = running_variance.data_ptr<float>(),
                            .batches = batches.data_ptr<std::int64_t>(),
                            .momentum = way.momentum,
                            .epsilon = way.epsilon,
                            .numbers = numbers.data_ptr<float>(),
                            .scratch = scratch.data_ptr<float>()};
    if (x.is_cuda()) {
      device::norm_forward(layer, grid, torch_stream());
    } else {
      norm_forward(layer, grid, &in_parallel);
    }
    context->save_for_backward({x, numbers, bits});
    context->saved_data[kTail] = static_cast<std::int64_t>(way.tail);
    context->saved_data[kTraining] = way.training;
    return y;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const torch::Tensor &x = saved[0], &numbers = saved[1], &bits = saved[2];
    const auto tail = static_cast<Tail>(context->saved_data[kTail].toInt());
    const torch::Tensor gradient = in_rows(gradients[0]);
    const torch::Tensor second = take_second(*context);
    const Activations shape = shape_of(x);
    const Grid grid = grid_of(x, shape);
    const torch::Tensor x_gradient = room_like(x);
    const torch::Tensor beside_gradient = tail == Tail::add_relu ? room_like(x) : torch::Tensor();
    const torch::Tensor weight_gradient = floats(shape.channels, x);
    const torch::Tensor bias_gradient = floats(shape.channels, x);
    const torch::Tensor scratch = floats(scratch_floats(shape, grid), x);
    const NormBackward layer{
        .shape = shape,
        .tail = tail,
        .training = context->saved_data[kTraining].toBool(),
        .y_gradient = gradient.data_ptr(),
        .second_gradient = second.defined() ? second.data_ptr() : nullptr,
        .x = x.data_ptr(),
        .positive = bytes_of(bits),
        .numbers = numbers.data_ptr<float>(),
        .beside_gradient = beside_gradient.defined() ? beside_gradient.data_ptr() : nullptr,
        .x_gradient = x_gradient.data_ptr(),
        .weight_gradient = weight_gradient.data_ptr<float>(),
        .bias_gradient = bias_gradient.data_ptr<float>(),
        .scratch = scratch.data_ptr<float>()};
    if (x.is_cuda()) {
      device::norm_backward(layer, grid, torch_stream());
    } else {
      norm_backward(layer, grid, &in_parallel);
    }
    // Of the three buffers and the way there are none.
    variable_list all{x_gradient, weight_gradient, bias_gradient, {}, {}, {}, {}};
    if (tail == Tail::add_relu) all.push_back(beside_gradient);
    return all;
  }
};

class MaxPool : public torch::autograd::Function<MaxPool> {
 public:
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& given,
                               PoolShape shape, bool differentiable) {
    const torch::Tensor x = in_rows(given);
    shape.images = static_cast<std::size_t>(x.size(0));
    shape.channels = static_cast<std::size_t>(x.size(1));
    shape.height = static_cast<std::size_t>(x.size(2));
    shape.width = static_cast<std::size_t>(x.size(3));
    shape.dtype = type_of(x);
    require_pool(shape);
    const auto options = x.options().requires_grad(false);
    const std::vector<std::int64_t> sizes{x.size(0), x.size(1),
                                          static_cast<std::int64_t>(shape.out_height()),
                                          static_cast<std::int64_t>(shape.out_width())};
    torch::Tensor y = torch::empty(sizes, options, torch::MemoryFormat::ChannelsLast);
    const torch::Tensor places =
        differentiable ? torch::empty({y.numel()}, options.dtype(torch::kUInt8)) : torch::Tensor();
    const PoolForward layer{shape, x.data_ptr(), y.data_ptr(), bytes_of(places)};
    if (x.is_cuda()) {
      device::pool_forward(layer, torch_stream());
    } else {
      pool_forward(layer, &in_parallel);
    }
    context->save_for_backward({places});
    context->saved_data[kShape] = c10::IValue(
        std::vector<std::int64_t>{x.size(2), x.size(3), static_cast<std::int64_t>(shape.window)});
    return y;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const torch::Tensor places = context->get_saved_variables()[0];
    const torch::Tensor gradient = in_rows(gradients[0]);
    const torch::Tensor second = take_second(*context);
    const std::vector<std::int64_t> kept = context->saved_data[kShape].toIntVector();
    const auto at = [&](std::size_t i) { return static_cast<std::size_t>(kept[i]); };
    const PoolShape shape{.images = static_cast<std::size_t>(gradient.size(0)),
                          .height = at(0),
                          .width = at(1),
                          .channels = static_cast<std::size_t>(gradient.size(1)),
                          .dtype = type_of(gradient),
                          .window = at(2)};
    const torch::Tensor x_gradient =
        torch::empty({gradient.size(0), gradient.size(1), kept[0], kept[1]},
                     gradient.options().requires_grad(false), torch::MemoryFormat::ChannelsLast);
    const PoolBackward layer{shape, gradient.data_ptr(),
                             second.defined() ? second.data_ptr() : nullptr, bytes_of(places),
                             x_gradient.data_ptr()};
    if (gradient.is_cuda()) {
      device::pool_backward(layer, torch_stream());
    } else {
      pool_backward(layer, &in_parallel);
    }
    return {x_gradient, {}, {}};
  }
};

/// A tensor as two, of which the gradient of the second is left to the layer that made the tensor
/// and whose backward pass comes next.
class Split : public torch::autograd::Function<Split> {
 public:
  static variable_list forward(AutogradContext* context, const torch::Tensor& x,
                               AutogradContext* maker) {
    // Kept by the node that autograd goes to from here.
    context->saved_data["maker"] = reinterpret_cast<std::int64_t>(maker);
    return {x, x};
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    auto* const maker = reinterpret_cast<AutogradContext*>(context->saved_data["maker"].toInt());
    maker->saved_data[kSecond] = gradients[1];
    return {gradients[0], {}};
  }
};

class BiasRelu : public torch::autograd::Function<BiasRelu> {
 public:
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& given,
                               const torch::Tensor& bias, bool differentiable) {
    const torch::Tensor x = in_rows(given);
    const Activations shape = shape_of(x);
    require_layer(shape);
    torch::Tensor y = room_like(x);
    const torch::Tensor bits = differentiable ? bits_for(x) : torch::Tensor();
    const BiasForward layer{shape, x.data_ptr(), bias.data_ptr<float>(), y.data_ptr(),
                            bytes_of(bits)};
    const Grid grid = grid_of(x, shape);
    if (x.is_cuda()) {
      device::bias_forward(layer, grid, torch_stream());
    } else {
      bias_forward(layer, grid, &in_parallel);
    }
    context->save_for_backward({bits});
    return y;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const torch::Tensor bits = context->get_saved_variables()[0];
    const torch::Tensor gradient = in_rows(gradients[0]);
    const Activations shape = shape_of(gradient);
    const Grid grid = grid_of(gradient, shape);
    const torch::Tensor x_gradient = room_like(gradient);
    const torch::Tensor bias_gradient = floats(shape.channels, gradient);
    const torch::Tensor scratch = floats(scratch_floats(shape, grid), gradient);
    const BiasBackward layer{shape,
                             gradient.data_ptr(),
                             bytes_of(bits),
                             x_gradient.data_ptr(),
                             bias_gradient.data_ptr<float>(),
                             scratch.data_ptr<float>()};
    if (gradient.is_cuda()) {
      device::bias_backward(layer, grid, torch_stream());
    } else {
      bias_backward(layer, grid, &in_parallel);
    }
    return {x_gradient, bias_gradient, {}};
  }
};

torch::Tensor normalised(torch::nn::BatchNorm2dImpl& norm, const torch::Tensor& x,
                         const torch::Tensor& beside, Tail tail) {
  const bool training = norm.is_training();
  if (training && x.numel() == x.size(1)) {
    fail("batch normalisation of a single number a channel has no variance to train with");
  }
  std::vector<torch::Tensor> added;
  if (beside.defined()) added.push_back(beside);
  // LibTorch takes no undefined tensor here, but a list that may be empty.
  return Norm::apply(x, norm.weight, norm.bias, norm.running_mean, norm.running_var,
                     norm.num_batches_tracked,
                     Way{tail, training, torch::GradMode::is_enabled(),
                         norm.options.momentum().value(), norm.options.eps()},
                     torch::TensorList(added));
}

/// Weights (out, 3, 7, 7) as (out, 16, 4, 4), which meet images in blocks. The seven pixels of a
/// row begin with the second of a block.
torch::Tensor in_blocks(const torch::Tensor& weight) {
  const torch::Tensor eight = torch::constant_pad_nd(weight, {1, 0, 1, 0, 0, 1});
  return eight.view({-1, 4, 4, 2, 4, 2})
      .permute({0, 2, 4, 3, 5, 1})
      .reshape({-1, 4, 4, static_cast<std::int64_t>(kBlockChannels)})
      .permute({0, 3, 1, 2});
}

/// Of the layer that made x, if it adds two gradients within its backward pass.
AutogradContext* maker_that_adds(const torch::Tensor& x) {
  torch::autograd::Node* const node = x.grad_fn().get();
  if (auto* const pool = dynamic_cast<torch::autograd::CppNode<MaxPool>*>(node)) return &pool->ctx_;
  auto* const norm = dynamic_cast<torch::autograd::CppNode<Norm>*>(node);
  if (norm == nullptr) return nullptr;
  const auto tail = static_cast<Tail>(norm->ctx_.saved_data[kTail].toInt());
  return tail == Tail::add_relu ? &norm->ctx_ : nullptr;
}

}  // namespace

torch::Tensor norm_relu(torch::nn::BatchNorm2dImpl& norm, const torch::Tensor& x,
                        const torch::Tensor& beside) {
  return normalised(norm, x, beside, beside.defined() ? Tail::add_relu : Tail::relu);
}

Fork forked(const torch::Tensor& x) {
  AutogradContext* const maker = torch::GradMode::is_enabled() ? maker_that_adds(x) : nullptr;
  if (maker == nullptr) return {x, x};
  const variable_list both = Split::apply(x, maker);
  return {both[0], both[1]};
}

torch::Tensor norm_only(torch::nn::BatchNorm2dImpl& norm, const torch::Tensor& x) {
  return normalised(norm, x, {}, Tail::none);
}

torch::Tensor bias_relu(const torch::Tensor& x, const torch::Tensor& bias) {
  return BiasRelu::apply(x, bias, torch::GradMode::is_enabled());
}

torch::Tensor max_pool(const torch::Tensor& x, std::int64_t window) {
  const PoolShape shape{.window = static_cast<std::size_t>(window)};
  return MaxPool::apply(x, shape, torch::GradMode::is_enabled());
}

torch::Tensor convolved(torch::nn::Conv2dImpl& convolution, const torch::Tensor& x) {
  const torch::Tensor& weight = convolution.weight;
  const std::int64_t padding = x.size(1) - weight.size(1);
  if (padding <= 0) return convolution.forward(x);
  if (x.size(1) == kBlockChannels && weight.size(2) == 7)
    return torch::conv2d(x, in_blocks(weight));
  const torch::Tensor wide = torch::constant_pad_nd(weight, {0, 0, 0, 0, 0, padding});
  return torch::conv2d(x, wide, {}, *convolution.options.stride(), (weight.size(2) - 1) / 2);
}

torch::Tensor run_fused(torch::nn::SequentialImpl& chain, torch::Tensor x,
                        const torch::Tensor& beside) {
  for (std::size_t i = 0; i < chain.size(); ++i) {
    const std::shared_ptr<torch::nn::Module> module = chain.ptr(i);
    auto* const norm = module->as<torch::nn::BatchNorm2d>();
    const bool last = i + 1 == chain.size();
    if (norm != nullptr && last && beside.defined()) {
      x = norm_relu(*norm, x, beside);
    } else if (norm != nullptr && !last && chain.ptr(i + 1)->as<torch::nn::ReLU>() != nullptr) {
      x = norm_relu(*norm, x);
      ++i;
    } else if (norm != nullptr) {
      x = norm_only(*norm, x);
    } else if (auto* const convolution = module->as<torch::nn::Conv2d>()) {
      x = convolved(*convolution, x);
    } else if (auto* const pool = module->as<torch::nn::MaxPool2d>()) {
      const torch::nn::MaxPool2dOptions& options = pool->options;
      const std::int64_t window = options.kernel_size()->at(0);
      const auto are = [](const auto& sides, std::int64_t wanted) {
        return sides->at(0) == wanted && sides->at(1) == wanted;
      };
      if (!are(options.kernel_size(), window) || !are(options.stride(), 2) ||
          !are(options.padding(), window - 2) || !are(options.dilation(), 1) ||
          options.ceil_mode()) {
        fail("a chain of fused layers has pooling of other than whole square windows of 2 or 3");
      }
      x = max_pool(x, window);
    } else {
      fail("a chain of fused layers has a {}", module->name());
    }
  }
  return x;
}

}  // namespace scalebench
