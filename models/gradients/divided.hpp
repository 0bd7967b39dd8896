// SPDX-License-Identifier: Apache-2.0
// Work that ranks divide: an update whose optimizer lies in pieces on several ranks, and servers,
// which hold whole variables.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/steps.hpp"
#include "models/gradients/gradient_sync.hpp"
#include "models/gradients/replica.hpp"
#include "models/step/optimizer.hpp"

namespace scalebench {

// Those that divide the update: each rank has an optimizer over the pieces of the flat parameters
// and gradients that it owns.

class DividedSync : public FlatSync {
 public:
  /// Collective.
  explicit DividedSync(const GradientSyncInputs& inputs);

  bool divides_optimizer() const override { return true; }
  NamedTensors optimizer_state() override {
    return optimizer_ ? optimizer_->state() : NamedTensors{};
  }
  void restore_optimizer(const NamedTensors& state) override {
    if (optimizer_) optimizer_->restore(state);
  }

 protected:
  /// Not on a rank that updates nothing. `mine`: what it updates of `parameters` from `gradients`,
  /// which are laid out as the replica's.
  void divide(const std::vector<Range>& mine, const torch::Tensor& parameters,
              const torch::Tensor& gradients);

  StagedExchange& ranks() { return exchange_; }
  /// Null on a rank that owns nothing.
  Optimizer* optimizer() const { return optimizer_.get(); }

 private:
  std::string optimizer_name_;
  StagedExchange exchange_;
  std::unique_ptr<Optimizer> optimizer_;
};

/// Throws UsageError when gradients are to travel compressed, which `name` does not do.
void require_full_width(std::string_view name, const GradientSyncOptions& options);

// Which server holds which variable, and how layers become stages: work divided in whole pieces.

/// The server of each variable: the largest first, each to the server that has least so far (of
/// equals the first one). TensorFlow's greedy load balancing. `servers` >= 1.
std::vector<int> placed_on_servers(std::span<const std::int64_t> sizes, int servers);

/// Cuts a chain of layers into `stages` runs, none empty, so that the most costly one is as cheap
/// as possible. Returns where each begins, and the end: stages + 1 numbers. Throws UsageError when
/// there are fewer layers than stages.
std::vector<std::size_t> cut_into_stages(std::span<const double> costs, int stages);

// What parameter-server strategies share: the last ranks are servers, each of which holds whole
// variables and their optimizer, the others workers, who push gradients and pull weights. A push is
// a header (rate, scale of the gradients, whether they are finite) and the gradients; the reply is
// whether they were used, and the weights. Adjacent variables of one server travel as one message.

class ServerSync : public DividedSync {
 public:
  /// Collective. Throws UsageError when there are too many servers for the ranks or the variables.
  ServerSync(std::string_view name, const GradientSyncInputs& inputs);

  Workers workers() const override;
  void synchronise() override { replica().finish_step(); }
  /// Parameters come from their servers and buffers, which only workers have, from rank 0.
  void publish() override;
  std::string remarks() const override;

 protected:
  struct Push {
    double learning_rate = 0;
    double gradient_scale = 1;
    bool finite = true;
  };

  int worker_count() const { return workers_; }
  int server_count() const { return communicator().size() - workers_; }
  bool is_server() const { return communicator().rank() >= workers_; }

  /// On a worker, for the server of that number: its gradients there, its weights back.
  Push push_of(double learning_rate, double gradient_scale);
  void push(int server, const Push& push);
  bool pull(int server);

  /// On a server: what a worker pushes, its gradients going into `gradients`, which is laid out as
  /// the replica's; and the reply.
  Push receive(int worker, const torch::Tensor& gradients);
  void reply(int worker, bool updated);
  /// On a server: updates its variables from the replica's flat gradients times `factor`.
  void apply(double learning_rate, double factor);

 private:
  /// Places the variables and joins neighbours.
  void place(const GradientSyncInputs& inputs);
  const std::vector<Range>& runs_of(int server) const {
    return runs_[static_cast<std::size_t>(server)];
  }
  int own_server() const { return communicator().rank() - workers_; }

  int workers_;
  Network* network_;
  std::vector<std::vector<Range>> runs_;    // by server: parts of the flat buffers
  std::vector<std::int64_t> server_sizes_;  // parameters on each
};

}  // namespace scalebench
