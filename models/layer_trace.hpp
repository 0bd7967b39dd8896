// SPDX-License-Identifier: Apache-2.0
// Which layer of a network a pass has done, told to whoever holds a clock.
#pragma once

#include <cstddef>

namespace scalebench {

/// Called by the thread of the pass, with the layer's place in the order of the forward pass.
class LayerTrace {
 public:
  virtual ~LayerTrace() = default;
  /// Layers in their order; the loss, which follows the last, has no call of its own.
  virtual void forward_done(std::size_t layer) = 0;
  /// One gradient of this layer is complete; as many calls a pass as it has parameters.
  virtual void gradient_done(std::size_t layer) = 0;
};

}  // namespace scalebench
