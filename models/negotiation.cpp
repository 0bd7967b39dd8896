// SPDX-License-Identifier: Apache-2.0
#include "models/negotiation.hpp"

#include "kernels/buffer.hpp"

namespace scalebench {

Negotiation::Negotiation(Communicator& communicator, const AllreduceAlgorithm& allreduce,
                         std::size_t count)
    : communicator_(communicator),
      allreduce_(allreduce),
      flags_(communicator.window(count, DType::int32)) {}

std::vector<std::int32_t> Negotiation::agree(std::vector<std::int32_t> mine) {
  const Span host = span_of(std::span(mine));
  copy(host, flags_.span);
  allreduce_.run(communicator_, flags_.span, flags_.span, ReduceOp::min);
  communicator_.wait();
  copy(flags_.span, host);
  return mine;
}

}  // namespace scalebench
