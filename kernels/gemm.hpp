// SPDX-License-Identifier: Apache-2.0
// Matrix product: what the arithmetic units can do, and most of what a training step does.
// The host's is the BLAS that the build linked, the device's is cuBLAS, so that the number is that
// of the library users run, not of a loop of ours.
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "kernels/buffer.hpp"
#include "kernels/device.hpp"

namespace scalebench {

/// How a device multiplies float: as float, or rounded to TF32's ten bits of fraction first, which
/// tensor cores take (other dtypes and the host know one way).
enum class GemmMath : std::uint8_t { exact, tf32 };

/// c = a * b, row-major: a is m x k, b is k x n, c is m x n. float and double on the host; on a
/// device half and bfloat16 too, summed in float. Other dtypes throw Unavailable; spans that do not
/// fit the shape, differ in dtype or memory or overlap throw Error. Asynchronous on a device.
void gemm(ConstSpan a, ConstSpan b, Span c, std::size_t m, std::size_t n, std::size_t k,
          DeviceStream stream = {}, GemmMath math = GemmMath::exact);

/// Threads of later products on the host. False when the linked BLAS is none that this knows how
/// to ask (OpenBLAS): the number of its threads is then unknown.
inline bool set_gemm_threads(int threads) {
  // Looked up at run time: the same binary runs over any libblas.so.3.
  using Setter = void (*)(int);
  const auto set = reinterpret_cast<Setter>(dlsym(RTLD_DEFAULT, "openblas_set_num_threads"));
  if (set != nullptr) set(threads);
  return set != nullptr;
}

/// The BLAS of products on the host, and the processor whose kernels it has chosen: "OpenBLAS
/// 0.3.21", "SkylakeX". Both are empty where it is none that this knows how to ask.
struct HostBlas {
  std::string name;
  std::string kernels;
};
inline HostBlas host_blas() {
  using Text = const char* (*)();
  const auto config = reinterpret_cast<Text>(dlsym(RTLD_DEFAULT, "openblas_get_config"));
  const auto core = reinterpret_cast<Text>(dlsym(RTLD_DEFAULT, "openblas_get_corename"));
  if (config == nullptr || core == nullptr) return {};
  const std::string all = config();  // "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ..."
  return {all.substr(0, all.find(' ', all.find(' ') + 1)), core()};
}

}  // namespace scalebench
