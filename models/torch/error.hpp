// SPDX-License-Identifier: Apache-2.0
// LibTorch's exceptions as one line, and those of memory as an error of ours.
#pragma once

#include <exception>
#include <string>

#include "kernels/error.hpp"

namespace scalebench {

/// Memory that training asked for is not there; the text gives bytes asked for and free.
class OutOfMemory : public Error {
 public:
  using Error::Error;
};

/// What is wrong: LibTorch's texts are a trace of many lines, and that is the last of them.
std::string last_line(const std::exception& error);

/// Rethrows the exception that is being handled: as OutOfMemory when it is LibTorch's, the C++
/// library's or a Buffer's way to say so, else unchanged. To be called in a catch clause.
[[noreturn]] void rethrow_memory_error();

// Facts about the LibTorch that is linked, for callers that do not include it.

/// "1.13.0": of the headers that this was built with.
std::string torch_version();

/// Whether LibTorch was built with CUDA and sees a card.
bool torch_sees_cuda();

}  // namespace scalebench
