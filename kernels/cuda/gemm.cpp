// SPDX-License-Identifier: Apache-2.0
// The matrix product through cuBLAS. float stays float unless TF32 is asked for. A handle costs
// tens of milliseconds and serves one thread and one device, so that each thread keeps one a
// device.
#include <cuda_runtime_api.h>

#include <array>
#include <map>
#include <memory>
#include <type_traits>

#include "kernels/cuda/check.hpp"
#include "kernels/cuda/cublas.hpp"
#include "kernels/device_kernels.hpp"
#include "kernels/error.hpp"

namespace scalebench::device {
namespace {

struct Destroy {
  void operator()(cublasHandle_t handle) const { static_cast<void>(cublas().destroy(handle)); }
};
using Handle = std::unique_ptr<std::remove_pointer_t<cublasHandle_t>, Destroy>;

cublasHandle_t handle_of_current_device() {
  thread_local std::map<int, Handle> handles;
  int device = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  Handle& handle = handles[device];
  if (!handle) {
    cublasHandle_t raw = nullptr;
    CUBLAS_CHECK(cublas().create(&raw));
    handle.reset(raw);
  }
  return handle.get();
}

cudaDataType_t data_type_of(DType dtype) {
  if (dtype == DType::int32) fail<Unavailable>("gemm: cuBLAS has no product of {}", name_of(dtype));
  constexpr std::array<cudaDataType_t, kDTypes.size()> kByDtype{CUDA_R_32F, CUDA_R_64F, CUDA_R_32I,
                                                                CUDA_R_16F, CUDA_R_16BF};
  return kByDtype[static_cast<std::size_t>(dtype)];
}

cublasComputeType_t compute_type_of(DType dtype, GemmMath math) {
  if (dtype == DType::float64) return CUBLAS_COMPUTE_64F;
  const bool tf32 = dtype == DType::float32 && math == GemmMath::tf32;
  return tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
}

}  // namespace

void gemm(ConstSpan a, ConstSpan b, Span c, std::size_t m, std::size_t n, std::size_t k,
          DeviceStream stream, GemmMath math) {
  const cudaDataType_t type = data_type_of(c.dtype);
  const auto raw_stream = static_cast<cudaStream_t>(stream.handle);
  if (c.empty()) return;
  if (k == 0) {
    CUDA_CHECK(cudaMemsetAsync(c.data, 0, c.bytes(), raw_stream));
    return;
  }
  const cublasHandle_t handle = handle_of_current_device();
  CUBLAS_CHECK(cublas().set_stream(handle, raw_stream));
  const bool is_double = c.dtype == DType::float64;
  const float one_float = 1, zero_float = 0;
  const double one_double = 1, zero_double = 0;
  const void* one = is_double ? static_cast<const void*>(&one_double) : &one_float;
  const void* zero = is_double ? static_cast<const void*>(&zero_double) : &zero_float;
  const int rows = static_cast<int>(m);
  const int columns = static_cast<int>(n);
  const int inner = static_cast<int>(k);
  // cuBLAS reads a row-major matrix as its transpose, and c' = b' * a'.
  const cublasStatus_t status =
      cublas().gemm_ex(handle, CUBLAS_OP_N, CUBLAS_OP_N, columns, rows, inner, one, b.data, type,
                       columns, a.data, type, inner, zero, c.data, type, columns,
                       compute_type_of(c.dtype, math), CUBLAS_GEMM_DEFAULT);
  // As of bfloat16 before Ampere.
  if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_ARCH_MISMATCH) {
    fail<Unavailable>("gemm: cuBLAS has no product of {} on this card", name_of(c.dtype));
  }
  CUBLAS_CHECK(status);
}

}  // namespace scalebench::device
