// SPDX-License-Identifier: Apache-2.0
// One shot: every rank lays its buffer where all can read it, and combines all of them by itself.
// Phases: copy into a window, one barrier, one pass over p buffers. There is no second barrier: the
// next call uses other memory. Short ones travel together with the word that they are there, where
// the transport can do that. Cost: 1 step, n(p-1) elements read by every rank.
// Wins for the smallest messages among ranks that address each other's memory: nothing is shorter
// than one synchronisation. TensorRT-LLM and vLLM call it one-shot as well.
#include "collectives/communicator.hpp"
#include "collectives/steps.hpp"

namespace scalebench::allreduce {

void one_shot(Communicator& communicator, ConstSpan in, Span out, ReduceOp op) {
  if (communicator.size() == 1 || in.empty()) return communicator.copy(in, out);
  PeerSpans<ConstSpan> copies;
  if (in.bytes() <= Communicator::kMostShortBytes) {
    const Span all =
        communicator.scratch(in.count * static_cast<std::size_t>(communicator.size()), in.dtype);
    if (communicator.gather_short(in, all)) {
      copies.cut(all, in.count);
      return communicator.combine(copies.all(), std::span(&out, 1), op);
    }
  }
  const Span mine = communicator.shared_scratch(in.count, in.dtype);
  if (!copies.find(communicator, mine)) fail_out_of_reach(communicator, "one_shot");
  communicator.copy(in, mine);
  communicator.barrier();
  // In rank order on every rank, so that all round alike.
  communicator.combine(copies.all(), std::span(&out, 1), op);
}

}  // namespace scalebench::allreduce
