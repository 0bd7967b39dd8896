// SPDX-License-Identifier: Apache-2.0
// cuBLAS, loaded when something first asks for it: that takes a tenth of a second and a hundred
// megabytes of address space, which programs and ranks without a product on a device do without.
#pragma once

#include <cublas_v2.h>

namespace scalebench::device {

/// Of the header's two cublasGemmEx the one that the library has.
using GemmEx = cublasStatus_t (*)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int,
                                  int, const void*, const void*, cudaDataType, int, const void*,
                                  cudaDataType, int, const void*, void*, cudaDataType, int,
                                  cublasComputeType_t, cublasGemmAlgo_t);

/// The calls that are made here, of the version that the header is of.
struct Cublas {
  decltype(&cublasCreate_v2) create;
  decltype(&cublasDestroy_v2) destroy;
  decltype(&cublasSetStream_v2) set_stream;
  decltype(static_cast<GemmEx>(&cublasGemmEx)) gemm_ex;
  decltype(&cublasGetStatusString) status_string;
};

/// As the dynamic linker finds it, then where the build found it. Throws Error with the dynamic
/// linker's reason where it is in neither place or lacks a call.
const Cublas& cublas();

}  // namespace scalebench::device

/// Throws Error with expression, place and cuBLAS' message unless `expression` is a success.
#define CUBLAS_CHECK(expression)                                              \
  do {                                                                        \
    const cublasStatus_t cublas_check_status = (expression);                  \
    if (cublas_check_status != CUBLAS_STATUS_SUCCESS) {                       \
      ::scalebench::cuda_failed(                                              \
          #expression, __FILE__, __LINE__, "cuBLAS",                          \
          ::scalebench::device::cublas().status_string(cublas_check_status)); \
    }                                                                         \
  } while (false)
