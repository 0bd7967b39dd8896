// SPDX-License-Identifier: Apache-2.0
// Facts about the LibTorch that is linked, for callers that do not include it.
#pragma once

#include <string>

namespace scalebench {

/// "1.13.0": of the headers that this was built with.
std::string torch_version();

/// Whether LibTorch was built with CUDA and sees a card.
bool torch_sees_cuda();

}  // namespace scalebench
