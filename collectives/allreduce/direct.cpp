// SPDX-License-Identifier: Apache-2.0
// Direct: every rank combines its share out of all ranks' inputs and writes it into all outputs.
// Phases: barrier, one pass over n/p elements with p sources and p destinations, barrier. Buffers
// in no window go through shared scratch; all ranks must bring the same kind of buffer. Cost: 2
// steps, n(p-1)/p elements read from and as many written to others. Wins from medium sizes on among
// ranks that address each other's memory: each byte moves once. TensorRT-LLM and vLLM: two-shot.
#include "collectives/communicator.hpp"
#include "collectives/steps.hpp"

namespace scalebench::allreduce {
namespace {

/// peer() wants a Span; what it finds for `in` is only read.
Span writable(ConstSpan in) {
  return {const_cast<std::byte*>(in.data), in.count, in.dtype, in.memory};
}

}  // namespace

void direct(Communicator& communicator, ConstSpan in, Span out, ReduceOp op) {
  if (communicator.size() == 1 || in.empty()) return communicator.copy(in, out);
  PeerSpans<ConstSpan> inputs;
  PeerSpans<Span> outputs;
  Span result = out;
  if (!inputs.find(communicator, writable(in)) || !outputs.find(communicator, out)) {
    result = communicator.shared_scratch(out.count, out.dtype);
    if (!inputs.find(communicator, result) || !outputs.find(communicator, result)) {
      fail_out_of_reach(communicator, "direct");
    }
    communicator.copy(in, result);
  }
  const Range share = range_of_chunks(out, communicator.rank(), 1, communicator.size());
  inputs.keep(share);
  outputs.keep(share);

  communicator.barrier();
  communicator.combine(inputs.all(), outputs.all(), op);
  communicator.barrier();
  communicator.copy(result, out);
}

}  // namespace scalebench::allreduce
