// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/check.hpp"

#include "kernels/error.hpp"

namespace scalebench {

void cuda_failed(const char* expression, const char* file, int line, const char* library,
                 const char* message) {
  fail("{}:{}: {}: {}: {}", file, line, expression, library, message);
}

}  // namespace scalebench
