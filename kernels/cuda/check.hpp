// SPDX-License-Identifier: Apache-2.0
// Checked calls of the CUDA libraries. Whoever uses a macro includes that library's header. The
// text is put together elsewhere (device.cpp): nvcc 13 rejects the fmt that Debian 12 ships.
#pragma once

#include <cstddef>

namespace scalebench {

/// Throws Error "file:line: expression: library: message".
[[noreturn]] void cuda_failed(const char* expression, const char* file, int line,
                              const char* library, const char* message);

/// Throws Error: of the sources and destinations of one combine().
[[noreturn]] void too_many_arrays(std::size_t given, std::size_t most);

}  // namespace scalebench

/// Throws Error with expression, place and CUDA's message unless `expression` is cudaSuccess.
#define CUDA_CHECK(expression)                                           \
  do {                                                                   \
    const cudaError_t cuda_check_status = (expression);                  \
    if (cuda_check_status != cudaSuccess) {                              \
      ::scalebench::cuda_failed(#expression, __FILE__, __LINE__, "CUDA", \
                                cudaGetErrorString(cuda_check_status));  \
    }                                                                    \
  } while (false)
