// SPDX-License-Identifier: Apache-2.0
// Parameter servers in step: each server waits for the gradients of all workers, updates its
// variables from their mean once, and sends everyone the new weights. Li et al., OSDI 2014. Cost:
// 2Wn/S numbers through each of S servers for W workers; the ranks that serve do not compute. Wins
// where servers are cheap machines and the network is better than the accelerators' links.
#include "models/gradients/divided.hpp"

namespace scalebench::gradient_sync {
namespace {

class PsSync : public ServerSync {
 public:
  explicit PsSync(const GradientSyncInputs& inputs) : ServerSync("ps_sync", inputs) {
    if (is_server()) incoming_ = torch::zeros_like(replica().flat_gradients());
  }

  /// All of it is one exchange among the workers: nobody is replied to before the last has pushed.
  bool update(double learning_rate, double gradient_scale) override {
    trace().enter(Phase::sync);
    const Push header = push_of(learning_rate, gradient_scale);
    trace().posted(Exchange::collective);
    for (int server = 0; server < server_count(); ++server) push(server, header);
    bool updated = true;
    for (int server = 0; server < server_count(); ++server) updated = pull(server) && updated;
    trace().ended();
    return updated;
  }

  void serve(std::int64_t steps) override {
    for (std::int64_t step = 0; step < steps; ++step) {
      trace().begin_step();
      trace().enter(Phase::sync);
      const torch::NoGradGuard no_grad;
      torch::Tensor sum = replica().flat_gradients();
      bool finite = true;
      Push push;
      for (int worker = 0; worker < worker_count(); ++worker) {
        trace().posted(Exchange::wait);
        push = receive(worker, worker == 0 ? sum : incoming_);
        trace().ended();
        finite = finite && push.finite;
        if (worker > 0) sum.add_(incoming_);
      }
      trace().enter(Phase::update);
      if (finite) apply(push.learning_rate, 1 / (worker_count() * push.gradient_scale));
      trace().enter(Phase::sync);
      trace().posted(Exchange::transfer);
      for (int worker = 0; worker < worker_count(); ++worker) reply(worker, finite);
      trace().ended();
      trace().enter(Phase::other);
    }
  }

 private:
  torch::Tensor incoming_;  // on servers: gradients of one worker, laid out as the replica's
};

}  // namespace

std::unique_ptr<GradientSync> ps_sync(const GradientSyncInputs& inputs) {
  return std::make_unique<PsSync>(inputs);
}

}  // namespace scalebench::gradient_sync
