// SPDX-License-Identifier: Apache-2.0
// One allreduce for each parameter, after the backward pass: what a first attempt looks like. Cost:
// as many latencies as parameters, all exposed; never wins, and is there as the lower bound.
// Source: pytorch/examples cpp/distributed/dist-mnist.cpp.
#include "models/gradients/reducer.hpp"
#include "models/gradients/replica.hpp"

namespace scalebench::gradient_sync {
namespace {

class Naive : public ReplicaSync {
 public:
  explicit Naive(const GradientSyncInputs& inputs)
      : ReplicaSync(inputs), reducer_(inputs, replica().gradients()) {}

  void synchronise() override {
    replica().finish_step();
    for (const FlatReplica::Place& place : replica().places()) {
      average_now(reducer_, replica().gradients().part(place.first, place.count), trace());
    }
  }

 private:
  GradientReducer reducer_;
};

}  // namespace

std::unique_ptr<GradientSync> naive(const GradientSyncInputs& inputs) {
  return std::make_unique<Naive>(inputs);
}

}  // namespace scalebench::gradient_sync
