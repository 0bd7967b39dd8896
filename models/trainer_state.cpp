// SPDX-License-Identifier: Apache-2.0
#include "models/trainer_state.hpp"

#include <algorithm>
#include <numeric>

#include "models/data/batch_stream.hpp"
#include "models/network/loss.hpp"
#include "models/torch/compute.hpp"

namespace scalebench {
namespace {

/// Images of a forward pass: bounds the memory for activations.
std::int64_t batch_for(const ImageShape& shape) {
  constexpr std::int64_t kMost = 500, kPixels = std::int64_t{4} << 20U;
  return std::clamp<std::int64_t>(kPixels / shape.pixels(), 1, kMost);
}

}  // namespace

Tally tally_of(Network& network, const ImageSource& test, std::int64_t first, std::int64_t end,
               const TrainerOptions& options, torch::Device device) {
  const torch::NoGradGuard no_grad;
  network.eval();
  auto hits = torch::zeros({}, torch::TensorOptions(torch::kInt64).device(device));
  auto loss = torch::zeros({}, torch::TensorOptions(torch::kFloat64).device(device));
  std::vector<std::int64_t> order(static_cast<std::size_t>(end - first));
  std::iota(order.begin(), order.end(), first);
  // Sets in memory are on the device already.
  const int threads = test.files() > 0 ? options.data.loader_threads : 0;
  const std::int64_t length = batch_for(options.choice.shape);
  BatchStream batches(
      test, order, device,
      {.batch = length, .loader_threads = threads, .channels_last = options.channels_last});
  Tally tally;
  for (; first < end; first += length) {
    const Batch batch = batches.next();
    tally.replaced += batch.replaced;
    const AutocastScope scope(options.precision, device);
    const auto outputs = network.forward(batch.images);
    hits += outputs.argmax(1).eq(batch.labels).sum();
    loss += loss_of(options.choice.loss, outputs, batch.labels) *
            static_cast<double>(batch.labels.size(0));
  }
  network.train();
  tally.correct = static_cast<double>(hits.item<std::int64_t>());
  tally.loss = loss.item<double>();
  return tally;
}

}  // namespace scalebench
