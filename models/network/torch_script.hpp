// SPDX-License-Identifier: Apache-2.0
// A TorchScript module of the user's as a network: its weights are those of the file.
#pragma once

#include "models/network/network.hpp"

namespace scalebench {

/// Reads choice.model and tries it with one image of zeros of choice.shape, in evaluation mode.
/// Parameters that need no gradient are kept as buffers. Throws UsageError in one line for a file
/// that is no TorchScript module, for one without trainable parameters or with parameters that are
/// not float32, and when the trial fails or does not return (1, classes).
std::shared_ptr<Network> load_torch_script(const ModelChoice& choice);

}  // namespace scalebench
