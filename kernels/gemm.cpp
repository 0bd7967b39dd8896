// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemm.hpp"

#include <cstring>
#include <limits>

#include "kernels/buffer.hpp"
#include "kernels/device_kernels.hpp"
#include "kernels/error.hpp"

// The Fortran symbols that every BLAS has; <cblas.h> would need a development package of one.
extern "C" {
void sgemm_(const char* trans_a, const char* trans_b, const int* m, const int* n, const int* k,
            const float* alpha, const float* a, const int* lda, const float* b, const int* ldb,
            const float* beta, float* c, const int* ldc);
void dgemm_(const char* trans_a, const char* trans_b, const int* m, const int* n, const int* k,
            const double* alpha, const double* a, const int* lda, const double* b, const int* ldb,
            const double* beta, double* c, const int* ldc);
}

namespace scalebench {
namespace {

void require_shape(ConstSpan a, ConstSpan b, ConstSpan c, std::size_t m, std::size_t n,
                   std::size_t k) {
  constexpr std::size_t kMost = std::numeric_limits<int>::max();
  if (m > kMost || n > kMost || k > kMost) {
    fail("gemm: {} x {} x {} is more than BLAS can count", m, n, k);
  }
  if (a.count != m * k || b.count != k * n || c.count != m * n) {
    fail("gemm: {}, {} and {} do not fit {} x {} x {}", describe(a), describe(b), describe(c), m, n,
         k);
  }
  if (a.dtype != c.dtype || b.dtype != c.dtype) {
    fail("gemm: spans differ: {}, {} and {}", describe(a), describe(b), describe(c));
  }
  require_apart("gemm", a, c);
  require_apart("gemm", b, c);
}

}  // namespace

void gemm(ConstSpan a, ConstSpan b, Span c, std::size_t m, std::size_t n, std::size_t k,
          DeviceStream stream, GemmMath math) {
  require_shape(a, b, c, m, n, k);
  if (c.memory == Memory::device) return device::gemm(a, b, c, m, n, k, stream, math);
  if (math != GemmMath::exact) fail<Unavailable>("gemm: the host's BLAS has no TF32");
  if (c.dtype != DType::float32 && c.dtype != DType::float64) {
    fail<Unavailable>("gemm: BLAS on the host has float and double, not {}", name_of(c.dtype));
  }
  if (c.empty()) return;
  if (k == 0) {
    std::memset(c.data, 0, c.bytes());
    return;
  }
  const int rows = static_cast<int>(m);
  const int columns = static_cast<int>(n);
  const int inner = static_cast<int>(k);
  // Fortran reads a row-major matrix as its transpose, and c' = b' * a'.
  if (c.dtype == DType::float32) {
    const float one = 1, zero = 0;
    sgemm_("N", "N", &columns, &rows, &inner, &one, b.as<float>().data(), &columns,
           a.as<float>().data(), &inner, &zero, c.as<float>().data(), &columns);
  } else {
    const double one = 1, zero = 0;
    dgemm_("N", "N", &columns, &rows, &inner, &one, b.as<double>().data(), &columns,
           a.as<double>().data(), &inner, &zero, c.as<double>().data(), &columns);
  }
}

}  // namespace scalebench
