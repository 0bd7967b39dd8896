// SPDX-License-Identifier: Apache-2.0
#include "models/loss.hpp"

namespace scalebench {

torch::Tensor loss_of(Loss loss, const torch::Tensor& outputs, const torch::Tensor& labels) {
  // Logarithms and sums lose too much in 16 bits; the identity for float32.
  const torch::Tensor values = outputs.to(torch::kFloat32);
  const auto one_hot = [&] { return torch::one_hot(labels, values.size(1)).to(torch::kFloat32); };
  switch (loss) {
    case Loss::nll:
      return torch::nll_loss_nd(values, labels);
    case Loss::mse:
      return torch::mse_loss(values, one_hot());
    case Loss::bce_with_logits:
      return torch::binary_cross_entropy_with_logits(values, one_hot());
    case Loss::cross_entropy:
      break;
  }
  return torch::cross_entropy_loss(values, labels);
}

}  // namespace scalebench
