// SPDX-License-Identifier: Apache-2.0
#include "models/torch_library.hpp"

#include <torch/cuda.h>
#include <torch/utils.h>
#include <torch/version.h>

namespace scalebench {

std::string torch_version() { return TORCH_VERSION; }

bool torch_sees_cuda() { return torch::cuda::is_available(); }

}  // namespace scalebench
