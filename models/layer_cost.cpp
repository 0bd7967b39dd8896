// SPDX-License-Identifier: Apache-2.0
#include "models/layer_cost.hpp"

namespace scalebench {

std::vector<double> layer_costs(Network& network, const std::vector<Layer>& layers,
                                const std::vector<std::int64_t>& image) {
  const torch::NoGradGuard no_grad;
  std::vector<std::int64_t> sizes{1};
  sizes.insert(sizes.end(), image.begin(), image.end());
  network.eval();
  torch::Tensor values = torch::zeros(sizes, network.parameters().front().options());
  std::vector<double> costs;
  for (const Layer& layer : layers) {
    values = layer.run(values);
    std::int64_t positions = 1;
    for (std::int64_t dim = 2; dim < values.dim(); ++dim) positions *= values.size(dim);
    std::int64_t touched = values.numel();
    for (const torch::Tensor& parameter : layer.parameters()) {
      touched += parameter.numel();
      if (parameter.dim() >= 2) touched += parameter.numel() * positions;
    }
    costs.push_back(static_cast<double>(touched));
  }
  network.train();
  return costs;
}

}  // namespace scalebench
