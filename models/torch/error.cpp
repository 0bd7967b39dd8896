// SPDX-License-Identifier: Apache-2.0
#include "models/torch/error.hpp"

#include <c10/util/Exception.h>
#include <torch/cuda.h>
#include <torch/utils.h>
#include <torch/version.h>

#include <algorithm>
#include <new>
#include <sstream>

#include "kernels/buffer.hpp"

namespace scalebench {
namespace {

std::string text_of(const std::exception& error) {
  const auto* const own = dynamic_cast<const c10::Error*>(&error);
  return own != nullptr ? own->what_without_backtrace() : error.what();
}

[[noreturn]] void fail_on_host(const std::string& asked) {
  fail<OutOfMemory>("out of host memory: {} bytes asked for, {} available; a smaller batch may fit",
                    asked, host_bytes_available());
}

}  // namespace

std::string last_line(const std::exception& error) {
  std::istringstream text(text_of(error));
  std::string line, last;
  while (std::getline(text, line)) {
    if (line.find_first_not_of(" \t\r~^<>-") != std::string::npos) last = line;
  }
  const std::size_t first = last.find_first_not_of(' ');
  return first == std::string::npos ? "no reason given" : last.substr(first);
}

void rethrow_memory_error() {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    fail_on_host("an unknown number of");
  } catch (const std::exception& error) {
    const std::string text = text_of(error);
    // A TorchScript interpreter wraps the allocators' errors in its own: their texts remain.
    constexpr std::string_view kHost = "DefaultCPUAllocator: ", kTried = "you tried to allocate ";
    const std::size_t host = text.find(kHost);
    if (const std::size_t tried = text.find(kTried, std::min(host, text.size()));
        tried != std::string::npos) {
      const std::size_t bytes = tried + kTried.size();
      fail_on_host(text.substr(bytes, text.find_first_not_of("0123456789", bytes) - bytes));
    }
    if (text.find("CUDA out of memory") != std::string::npos) {
      const std::size_t first = text.find("CUDA out of memory");
      throw OutOfMemory(text.substr(first, text.find('\n', first) - first));
    }
    if (text.starts_with("out of host memory")) throw OutOfMemory(text);
    throw;
  }
}

std::string torch_version() { return TORCH_VERSION; }

bool torch_sees_cuda() { return torch::cuda::is_available(); }

}  // namespace scalebench
