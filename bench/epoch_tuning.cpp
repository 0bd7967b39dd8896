// SPDX-License-Identifier: Apache-2.0
#include "bench/epoch_tuning.hpp"

#include "bench/allreduce_tuning.hpp"
#include "models/models.hpp"

namespace scalebench {
namespace {

/// A bias, and no less than a latency.
constexpr std::size_t kSmallestBytes = 256;

}  // namespace

void tune_for_training(const Ranks& ranks, Communicator& gradients, const TrainerOptions& trainer) {
  if (trainer.allreduce == nullptr || trainer.allreduce->function != &allreduce::automatic) return;
  const DType wire = trainer.sync.wire;
  // The size of a module in a file is not known before it is loaded.
  constexpr std::int64_t kParametersOfAFile = std::int64_t{16} << 20U;
  const ModelChoice& choice = trainer.choice;
  const auto parameters =
      static_cast<std::size_t>(choice.trace != nullptr ? choice.trace->parameters
                               : choice.is_file()      ? kParametersOfAFile
                                                       : model_named(trainer.model).parameters);
  const std::size_t bytes = std::max(parameters * size_of(wire), kSmallestBytes);
  const AllreduceBuffers buffers(gradients, {.largest_bytes = bytes});
  CollectiveTimer timer(ranks.host);
  AllreduceVerifier verifier(ranks.host, bytes);
  AllreduceMethod method;
  method.start = StartMode::barrier;  // also right where ranks share cores
  const AllreduceSetting setting{std::string(gradients.transport()), gradients.memory(), wire,
                                 ReduceOp::sum};
  gradients.set_choices(tune({gradients, buffers, timer, verifier}, ranks.host, setting, method,
                             kSmallestBytes, bytes));
}

}  // namespace scalebench
