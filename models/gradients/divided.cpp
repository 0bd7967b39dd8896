// SPDX-License-Identifier: Apache-2.0
#include "models/gradients/divided.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "kernels/error.hpp"
#include "models/network/network.hpp"

namespace scalebench {

DividedSync::DividedSync(const GradientSyncInputs& inputs)
    : FlatSync(inputs), optimizer_name_(inputs.optimizer), exchange_(inputs.communicator) {}

void DividedSync::divide(const std::vector<Range>& mine, const torch::Tensor& parameters,
                         const torch::Tensor& gradients) {
  std::vector<torch::Tensor> views;
  for (const Range range : mine) {
    const auto part_of = [range](const torch::Tensor& flat) {
      return flat.narrow(0, static_cast<std::int64_t>(range.first),
                         static_cast<std::int64_t>(range.count));
    };
    views.push_back(part_of(parameters));
    views.back().mutable_grad() = part_of(gradients);
  }
  optimizer_ = make_optimizer(optimizer_name_, views);
}

void require_full_width(std::string_view name, const GradientSyncOptions& options) {
  if (options.wire == DType::float32) return;
  fail<UsageError>(
      "gradient sync {} sends float32 only; compression is for mirrored, balanced_shards and "
      "other strategies that reduce gradients in buffers of their own",
      name);
}

std::vector<int> placed_on_servers(std::span<const std::int64_t> sizes, int servers) {
  std::vector<std::size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order,
                           [&](std::size_t a, std::size_t b) { return sizes[a] > sizes[b]; });
  std::vector<std::int64_t> load(static_cast<std::size_t>(servers));
  std::vector<int> server_of(sizes.size());
  for (const std::size_t variable : order) {
    const auto least = std::ranges::min_element(load);
    *least += sizes[variable];
    server_of[variable] = static_cast<int>(least - load.begin());
  }
  return server_of;
}

std::vector<std::size_t> cut_into_stages(std::span<const double> costs, int stages) {
  const std::size_t n = costs.size(), p = static_cast<std::size_t>(stages);
  if (n < p) {
    fail<UsageError>("a model of {} layers cannot be split over {} ranks; use at most {}", n, p, n);
  }
  // worst[k][i]: the costliest of k stages over the first i layers, cut in the best way.
  constexpr double kImpossible = std::numeric_limits<double>::infinity();
  std::vector<std::vector<double>> worst(p + 1, std::vector<double>(n + 1, kImpossible));
  std::vector<std::vector<std::size_t>> begin(p + 1, std::vector<std::size_t>(n + 1));
  worst[0][0] = 0;
  for (std::size_t k = 1; k <= p; ++k) {
    for (std::size_t i = k; i <= n; ++i) {
      double last = 0;
      for (std::size_t first = i; first-- >= k;) {
        last += costs[first];
        const double candidate = std::max(worst[k - 1][first], last);
        if (candidate < worst[k][i]) {
          worst[k][i] = candidate;
          begin[k][i] = first;
        }
      }
    }
  }
  std::vector<std::size_t> cuts{n};
  for (std::size_t k = p; k > 0; --k) cuts.push_back(begin[k][cuts.back()]);
  std::ranges::reverse(cuts);
  return cuts;
}

ServerSync::ServerSync(std::string_view name, const GradientSyncInputs& inputs)
    : DividedSync(inputs),
      workers_(scalebench::worker_count(name, inputs.options, inputs.communicator.size())),
      network_(inputs.network) {
  require_full_width(name, inputs.options);
  place(inputs);
  if (!is_server()) return;
  divide(runs_of(own_server()), replica().flat_parameters(), replica().flat_gradients());
}

void ServerSync::place(const GradientSyncInputs& inputs) {
  std::vector<std::int64_t> sizes;
  for (const torch::Tensor& parameter : inputs.parameters) sizes.push_back(parameter.numel());
  if (static_cast<std::size_t>(server_count()) > sizes.size()) {
    fail<UsageError>("{} servers for a model of {} variables: use at most {}", server_count(),
                     sizes.size(), sizes.size());
  }
  const std::vector<int> server_of = placed_on_servers(sizes, server_count());
  runs_.resize(static_cast<std::size_t>(server_count()));
  server_sizes_.resize(runs_.size());
  // The last parameter lies first in the flat buffers.
  int before = -1;
  for (std::size_t left = sizes.size(); left > 0; --left) {
    const int server = server_of[left - 1];
    const FlatReplica::Place& place = replica().places()[left - 1];
    std::vector<Range>& runs = runs_[static_cast<std::size_t>(server)];
    if (server == before) {
      runs.back().count = place.first + place.count - runs.back().first;
    } else {
      runs.push_back({place.first, place.count});
    }
    server_sizes_[static_cast<std::size_t>(server)] += sizes[left - 1];
    before = server;
  }
}

Workers ServerSync::workers() const { return {workers_, is_server() ? -1 : communicator().rank()}; }

ServerSync::Push ServerSync::push_of(double learning_rate, double gradient_scale) {
  // The losses themselves are looked at where gradients are not scaled.
  const bool finite =
      gradient_scale == 1 || std::isfinite(replica().flat_gradients().sum().item<float>());
  return {learning_rate, gradient_scale, finite};
}

void ServerSync::push(int server, const Push& push) {
  std::array<double, 3> header{push.learning_rate, push.gradient_scale, push.finite ? 1.0 : 0.0};
  ranks().send(span_of(std::span<double>(header)), workers_ + server);
  for (const Range run : runs_of(server)) {
    ranks().send(replica().gradients().part(run.first, run.count), workers_ + server);
  }
}

bool ServerSync::pull(int server) {
  double updated = 0;
  ranks().receive(span_of(std::span(&updated, 1)), workers_ + server);
  for (const Range run : runs_of(server)) {
    ranks().receive(replica().parameters().part(run.first, run.count), workers_ + server);
  }
  return updated != 0;
}

ServerSync::Push ServerSync::receive(int worker, const torch::Tensor& gradients) {
  std::array<double, 3> header{};
  ranks().receive(span_of(std::span<double>(header)), worker);
  const Span into = span_of_tensor(gradients);
  for (const Range run : runs_of(own_server())) {
    ranks().receive(into.part(run.first, run.count), worker);
  }
  return {header[0], header[1], header[2] != 0};
}

void ServerSync::reply(int worker, bool updated) {
  double used = updated ? 1 : 0;
  ranks().send(span_of(std::span(&used, 1)), worker);
  for (const Range run : runs_of(own_server())) {
    ranks().send(replica().parameters().part(run.first, run.count), worker);
  }
}

void ServerSync::apply(double learning_rate, double factor) {
  const torch::NoGradGuard no_grad;
  if (factor != 1) {
    for (const Range run : runs_of(own_server())) {
      replica()
          .flat_gradients()
          .narrow(0, static_cast<std::int64_t>(run.first), static_cast<std::int64_t>(run.count))
          .mul_(factor);
    }
  }
  optimizer()->step(learning_rate);
}

void ServerSync::publish() {
  for (int server = 0; server < server_count(); ++server) {
    for (const Range run : runs_of(server)) {
      ranks().broadcast(replica().parameters().part(run.first, run.count), workers_ + server);
    }
  }
  if (network_ == nullptr) return;
  const torch::NoGradGuard no_grad;
  for (torch::Tensor& buffer : network_->buffers()) broadcast_tensor(ranks(), buffer, 0);
}

std::string ServerSync::remarks() const {
  return fmt::format("parameters on servers: {} (whole variables, the largest placed first)",
                     fmt::join(server_sizes_, " + "));
}

}  // namespace scalebench
