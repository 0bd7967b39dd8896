// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/cublas.hpp"

#include <dlfcn.h>

#include <string>

#include "kernels/error.hpp"

namespace scalebench::device {
namespace {

#define TEXT_OF(macro) TEXT(macro)
#define TEXT(token) #token
constexpr const char* kName = "libcublas.so." TEXT_OF(CUBLAS_VER_MAJOR);

/// Stays loaded until the process ends: handles of threads may outlive any owner.
void* open_cublas() {
  if (void* const found = dlopen(kName, RTLD_NOW | RTLD_LOCAL)) return found;
  const std::string why = dlerror();
  if (void* const found = dlopen(SCALEBENCH_CUBLAS, RTLD_NOW | RTLD_LOCAL)) return found;
  fail("cuBLAS: {}", why);
}

template <typename Call>
void take(void* library, const char* name, Call& call) {
  call = reinterpret_cast<Call>(dlsym(library, name));
  if (call == nullptr) fail("cuBLAS: {}", dlerror());
}

Cublas load() {
  void* const library = open_cublas();
  Cublas calls{};
  take(library, "cublasCreate_v2", calls.create);
  take(library, "cublasDestroy_v2", calls.destroy);
  take(library, "cublasSetStream_v2", calls.set_stream);
  take(library, "cublasGemmEx", calls.gemm_ex);
  take(library, "cublasGetStatusString", calls.status_string);
  return calls;
}

}  // namespace

const Cublas& cublas() {
  static const Cublas calls = load();
  return calls;
}

}  // namespace scalebench::device
