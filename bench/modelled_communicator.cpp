// SPDX-License-Identifier: Apache-2.0
#include "bench/modelled_communicator.hpp"

#include <simgrid/actor.h>
#include <smpi/smpi.h>

#include "kernels/error.hpp"

namespace scalebench {

UntouchedMemory::UntouchedMemory(std::size_t bytes)
    : data_(static_cast<std::byte*>(SMPI_SHARED_MALLOC(bytes))) {}

UntouchedMemory::~UntouchedMemory() { SMPI_SHARED_FREE(data_); }

void ModelledCommunicator::combine(std::span<const ConstSpan> from, std::span<const Span> to,
                                   ReduceOp op) {
  if (real_data()) inner_.combine(from, to, op);
  const auto bytes = static_cast<double>((from.size() - 1) * from.front().bytes());
  const double seconds = model_.reduce_seconds_per_byte * bytes;
  if (seconds > 0) sg_actor_sleep_for(seconds);
}

void ModelledCommunicator::scale(Span values, double factor) {
  if (real_data()) inner_.scale(values, factor);
}

void ModelledCommunicator::copy(ConstSpan from, Span to) {
  if (real_data()) inner_.copy(from, to);
}

Span ModelledCommunicator::scratch(std::size_t count, DType dtype) {
  if (real_data()) return inner_.scratch(count, dtype);
  const Span all{model_.untouched.data, count, dtype, Memory::host};
  if (all.bytes() > model_.untouched.bytes()) {
    fail("scratch of {} bytes is more than the {} there are", all.bytes(),
         model_.untouched.bytes());
  }
  return all;
}

}  // namespace scalebench
