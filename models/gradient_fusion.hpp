// SPDX-License-Identifier: Apache-2.0
// Gradients that lie apart in the flat buffer as one message: neighbours travel where they lie,
// others through a fusion buffer, as in Horovod's tensor fusion.
#pragma once

#include <optional>
#include <vector>

#include "models/gradient_buckets.hpp"
#include "models/gradient_reducer.hpp"

namespace scalebench {

/// The gradients `chosen` (indices of parameters), in the order of the flat buffer, divided into
/// messages of at most `bytes`, more only where one gradient alone is larger.
std::vector<std::vector<std::size_t>> fuse(const std::vector<FlatPlace>& places,
                                           std::vector<std::size_t> chosen, std::size_t bytes);

/// Whether nothing lies between them in the flat buffer.
bool are_neighbours(const std::vector<std::size_t>& message);

/// The memory through which others travel.
class FusionBuffer {
 public:
  /// Collective. Room for at most `bytes`, and for no more than all of `gradients`.
  FusionBuffer(const GradientSyncInputs& inputs, Span gradients, std::size_t bytes);

  /// All as one; the order of calls.
  void pack(const std::vector<Span>& parts);
  /// Collective.
  void average() { reducer_.average(packed_); }
  void unpack(const std::vector<Span>& parts);

 private:
  static Window make(const GradientSyncInputs& inputs, Span gradients, std::size_t bytes);
  DeviceStream stream() const;

  Communicator& communicator_;
  Window buffer_;
  GradientReducer reducer_;
  Span packed_;
};

}  // namespace scalebench
