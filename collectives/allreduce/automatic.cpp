// SPDX-License-Identifier: Apache-2.0
// Auto: whichever algorithm was measured to be fastest at the nearest size on this transport, with
// this many ranks; see AllreduceChoices. Cost: that of the chosen one, and a look into the table.
#include "collectives/allreduce.hpp"
#include "kernels/device.hpp"
#include "kernels/error.hpp"

namespace scalebench::allreduce {

void automatic(Communicator& communicator, ConstSpan in, Span out, ReduceOp op) {
  const AllreduceChoices* choices = communicator.choices();
  if (choices == nullptr) fail<Unavailable>("algorithm auto needs a measured table");
  const AllreduceAlgorithm& chosen = choices->pick(out.bytes());
  const ProfilerRange range(chosen.name.data());
  chosen.run_alike(communicator, in, out, op);
}

}  // namespace scalebench::allreduce
