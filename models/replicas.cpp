// SPDX-License-Identifier: Apache-2.0
// Compares replicas by hash, so that 16 characters a rank travel instead of the parameters.
#include "models/replicas.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>

#include "collectives/allreduce.hpp"
#include "collectives/control.hpp"

namespace scalebench {
namespace {

/// Multiply and rotate, eight bytes a step: not cryptographic, but every bit of the input reaches
/// the result, and a difference in one word always changes it.
class Hash {
 public:
  void add(const torch::Tensor& tensor) {
    const torch::Tensor host = tensor.detach().cpu().contiguous();
    const auto* bytes = static_cast<const std::byte*>(host.data_ptr());
    const std::size_t count = host.nbytes();
    add_word(count);
    for (std::size_t first = 0; first < count; first += sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes + first, std::min(sizeof word, count - first));
      add_word(word);
    }
  }
  std::uint64_t value() const { return state_; }

 private:
  void add_word(std::uint64_t word) {
    state_ = std::rotl((state_ ^ word) * 0x9e3779b97f4a7c15U, 29);
  }

  std::uint64_t state_ = 0x6a09e667f3bcc908U;
};

}  // namespace

std::uint64_t hash_of(const Network& network) {
  Hash hash;
  for (const auto& parameter : network.parameters()) hash.add(parameter);
  for (const auto& buffer : network.buffers()) hash.add(buffer);
  return hash.value();
}

bool replicas_equal(const Network& network, Communicator& host) {
  const auto hashes = all_gather(host, fmt::format("{:016x}", hash_of(network)));
  return std::all_of(hashes.begin(), hashes.end(),
                     [&](const std::string& hash) { return hash == hashes.front(); });
}

double replica_divergence(const Network& network, Communicator& host, bool worker) {
  const torch::NoGradGuard no_grad;
  std::vector<torch::Tensor> flat;
  for (const auto& parameter : network.parameters()) {
    flat.push_back(parameter.detach().to(torch::kCPU, torch::kFloat64).flatten());
  }
  const torch::Tensor mine = torch::cat(flat);
  torch::Tensor mean = worker ? mine.clone() : torch::zeros_like(mine);
  const Span sum =
      span_of(std::span(mean.data_ptr<double>(), static_cast<std::size_t>(mean.numel())));
  allreduce_named("ring").run(host, sum, sum, ReduceOp::sum);
  const std::vector<double> workers = all_gather(host, worker ? 1.0 : 0.0);
  mean /= std::accumulate(workers.begin(), workers.end(), 0.0);
  const double distance = worker ? (mine - mean).norm().item<double>() : 0;
  const std::vector<double> all = all_gather(host, distance);
  return *std::ranges::max_element(all) / mean.norm().item<double>();
}

void broadcast_buffers(Network& network, Communicator& host) {
  torch::NoGradGuard no_grad;
  std::vector<torch::Tensor> flat;
  for (const auto& buffer : network.buffers()) {
    if (buffer.is_floating_point()) flat.push_back(buffer.flatten().to(torch::kFloat32));
  }
  if (flat.empty() || host.size() == 1) return;
  const torch::Tensor all = torch::cat(flat).cpu().contiguous();
  const auto count = static_cast<std::size_t>(all.numel());
  broadcast(host, span_of(std::span(all.data_ptr<float>(), count)), 0);
  std::int64_t first = 0;
  for (auto& buffer : network.buffers()) {
    if (!buffer.is_floating_point()) continue;
    buffer.copy_(all.narrow(0, first, buffer.numel()).view(buffer.sizes()));
    first += buffer.numel();
  }
}

}  // namespace scalebench
