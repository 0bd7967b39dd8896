// SPDX-License-Identifier: Apache-2.0
// The exact check of a case: inputs whose reduction is known, a poisoned output, every element of
// every rank compared; out of place, the input must also be what it was. Inputs of a longer buffer
// begin with those of a shorter one, so they are made once per dtype and op.
#pragma once

#include <functional>
#include <optional>

#include "bench/allreduce_buffers.hpp"
#include "kernels/buffer.hpp"

namespace scalebench {

class AllreduceVerifier {
 public:
  /// `host` joins the ranks' verdicts. `largest_bytes` of one rank's buffer.
  AllreduceVerifier(Communicator& host, std::size_t largest_bytes);

  /// Collective: fills `spans.in`, calls `run`, which returns when it is done, returns the wrong
  /// elements over all ranks, and leaves zeros, which stay zeros however often they are reduced in
  /// place.
  std::size_t count_wrong(Communicator& data, AllreduceSpans spans, ReduceOp op,
                          const std::function<void()>& run);

 private:
  ConstSpan inputs(const Communicator& data, std::size_t count, DType dtype, ReduceOp op);

  Communicator& host_;
  Buffer inputs_;
  Buffer staging_;  // what came back from a device
  std::size_t largest_bytes_;
  DType dtype_ = DType::float32;
  std::optional<ReduceOp> op_;
  std::size_t filled_ = 0;  // leading elements of inputs_ that hold inputs of dtype_ and op_
};

}  // namespace scalebench
