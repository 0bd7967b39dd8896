// SPDX-License-Identifier: Apache-2.0
// A call each time that a parameter's gradient is there, from LibTorch's autograd.
#pragma once

#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

namespace scalebench {

class GradientHook {
 public:
  /// `done` is called by the thread that runs the backward pass, until the end of this.
  GradientHook(const torch::Tensor& parameter, std::function<void()> done)
      : accumulator_(torch::autograd::impl::grad_accumulator(parameter)),
        key_(accumulator_->add_post_hook(std::make_unique<Call>(std::move(done)))) {}
  GradientHook(GradientHook&&) noexcept = default;
  GradientHook& operator=(GradientHook&&) = delete;
  ~GradientHook() {
    if (accumulator_) accumulator_->del_post_hook(key_);
  }

 private:
  struct Call final : torch::autograd::FunctionPostHook {
    explicit Call(std::function<void()> what) : done(std::move(what)) {}
    torch::autograd::variable_list operator()(const torch::autograd::variable_list& outputs,
                                              const torch::autograd::variable_list&) override {
      done();
      return outputs;
    }
    std::function<void()> done;
  };

  // Without it LibTorch forgets the hook. Not the same kind of pointer in all its versions.
  decltype(torch::autograd::impl::grad_accumulator(
      std::declval<const torch::Tensor&>())) accumulator_;
  std::uintptr_t key_;
};

}  // namespace scalebench
