// SPDX-License-Identifier: Apache-2.0
// LibTorch calls an observer before and after each operation; those that others are made of are
// counted once, at the outermost.
#include "models/forward_flops.hpp"

#include <ATen/record_function.h>

#include <string_view>

namespace scalebench {
namespace {

/// Of the calling thread, whose operations alone are observed.
struct Count {
  double flops = 0;
  int depth = 0;
};
thread_local Count* counting = nullptr;

double elements(const at::Tensor& tensor) { return static_cast<double>(tensor.numel()); }

/// What is left to multiply with the elements of the result: uses of each of them, times two.
struct Product final : at::ObserverContext {
  double flops_per_element = 0;
};

std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& operation) {
  const std::string_view name = operation.name();
  const auto inputs = operation.inputs();
  const auto factor = [&](std::size_t at) { return inputs[at].toTensor(); };
  auto product = std::make_unique<Product>();
  if (name == "aten::convolution" || name == "aten::_convolution") {
    product->flops_per_element = 2 * elements(factor(1)) / static_cast<double>(factor(1).size(0));
  } else if (name == "aten::mm" || name == "aten::bmm") {
    product->flops_per_element = 2 * static_cast<double>(factor(0).size(-1));
  } else if (name == "aten::addmm" || name == "aten::baddbmm") {
    product->flops_per_element = 2 * static_cast<double>(factor(1).size(-1));
  } else {
    return nullptr;
  }
  ++counting->depth;
  return product;
}

void end(const at::RecordFunction& operation, at::ObserverContext* context) {
  if (context == nullptr) return;
  const double each = static_cast<Product*>(context)->flops_per_element;
  if (--counting->depth == 0) {
    counting->flops += each * elements(operation.outputs().front().toTensor());
  }
}

/// Observes while it lives.
class Observer {
 public:
  explicit Observer(Count& count)
      : handle_(at::addThreadLocalCallback(at::RecordFunctionCallback(&begin, &end)
                                               .needsInputs(true)
                                               .needsOutputs(true)
                                               .scopes({at::RecordScope::FUNCTION}))) {
    counting = &count;
  }
  ~Observer() {
    at::removeCallback(handle_);
    counting = nullptr;
  }
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;

 private:
  at::CallbackHandle handle_;
};

}  // namespace

double forward_flops(Network& network, const std::vector<std::int64_t>& image) {
  const torch::NoGradGuard no_grad;
  std::vector<std::int64_t> sizes{1};
  sizes.insert(sizes.end(), image.begin(), image.end());
  const torch::Tensor images = torch::zeros(sizes, network.parameters().front().options());
  Count count;
  network.eval();
  {
    const Observer observer(count);
    static_cast<void>(network.forward(images));
  }
  network.train();
  return count.flops;
}

}  // namespace scalebench
