// SPDX-License-Identifier: Apache-2.0
// Whatever the transport's own library does: MPI_Allreduce on host memory, ncclAllReduce on
// devices. The library picks the algorithm, so the suite claims no cost for it.
#include "collectives/communicator.hpp"
#include "kernels/error.hpp"

namespace scalebench::allreduce {

void native(Communicator& communicator, ConstSpan in, Span out, ReduceOp op) {
  if (!communicator.native_allreduce(in, out, op)) {
    fail<Unavailable>("transport '{}' has no allreduce of its own for {}", communicator.transport(),
                      name_of(out.dtype));
  }
}

}  // namespace scalebench::allreduce
