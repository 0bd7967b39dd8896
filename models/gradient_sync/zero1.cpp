// SPDX-License-Identifier: Apache-2.0
// Each rank remembers and updates one shard of the parameters: ZeRO stage 1, Rajbhandari et al.
// 2020; llm.c's zero.cuh. Phases: reduce-scatter of gradients; update of n/p parameters; all-gather
// of parameters. Cost: as much traffic as a ring allreduce, 1/p of the optimizer's memory and work.
// Wins where the update or its memory matters (Adam on large models).
#include "collectives/steps.hpp"
#include "models/gradients/divided.hpp"
#include "models/gradients/replica.hpp"

namespace scalebench::gradient_sync {
namespace {

class Zero1 : public DividedSync {
 public:
  explicit Zero1(const GradientSyncInputs& inputs)
      : DividedSync(inputs),
        gradients_(communicator(), replica().gradients()),
        parameters_(communicator(), replica().parameters()),
        group_(communicator(), all_ranks(communicator()), communicator().rank(),
               communicator().size(), gradients_.span()) {
    require_full_width("zero1", inputs.options);
    shard_ =
        range_of_chunks(replica().parameters(), communicator().rank(), 1, communicator().size());
    if (shard_.count == 0) return;
    divide({shard_}, replica().flat_parameters(), replica().flat_gradients());
  }

  void synchronise() override {
    replica().finish_step();
    gradients_.load();
    trace().posted(Exchange::collective);
    group_.reduce_scatter(gradients_.span(), ReduceOp::sum);
    communicator().scale(group_.own(gradients_.span()), 1.0 / communicator().size());
    communicator().wait();
    trace().ended();
    gradients_.store(shard_);
  }

  bool update(double learning_rate, double gradient_scale) override {
    bool finite = unscale(shard_of(replica().flat_gradients()), gradient_scale);
    if (gradient_scale != 1) finite = ranks().all_agree(finite);
    if (!finite) return false;
    if (optimizer() != nullptr) optimizer()->step(learning_rate);
    trace().enter(Phase::sync);
    parameters_.load(shard_);
    trace().posted(Exchange::collective);
    group_.all_gather(parameters_.span());
    communicator().wait();
    trace().ended();
    parameters_.store();
    return true;
  }

 private:
  torch::Tensor shard_of(const torch::Tensor& flat) const {
    return flat.narrow(0, static_cast<std::int64_t>(shard_.first),
                       static_cast<std::int64_t>(shard_.count));
  }

  WireBuffer gradients_;
  WireBuffer parameters_;
  ScatterGather group_;
  Range shard_;
};

}  // namespace

std::unique_ptr<GradientSync> zero1(const GradientSyncInputs& inputs) {
  return std::make_unique<Zero1>(inputs);
}

}  // namespace scalebench::gradient_sync
