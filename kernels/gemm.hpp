// SPDX-License-Identifier: Apache-2.0
// Matrix product: what the arithmetic units can do, and most of what a training step does.
// The host's is the BLAS that the build linked, the device's is cuBLAS, so that the number is that
// of the library users run, not of a loop of ours.
#pragma once

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
bool set_gemm_threads(int threads);

/// The BLAS of products on the host, and the processor whose kernels it has chosen: "OpenBLAS
/// 0.3.21", "SkylakeX". Both are empty where it is none that this knows how to ask.
struct HostBlas {
  std::string name;
  std::string kernels;
};
HostBlas host_blas();

}  // namespace scalebench
