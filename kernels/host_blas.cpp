// SPDX-License-Identifier: Apache-2.0
// What can be asked of whichever BLAS a process has, without being linked with one.
#include <dlfcn.h>

#include <string>

#include "kernels/gemm.hpp"

namespace scalebench {

bool set_gemm_threads(int threads) {
  // Looked up at run time: the same binary runs over any libblas.so.3.
  using Setter = void (*)(int);
  const auto set = reinterpret_cast<Setter>(dlsym(RTLD_DEFAULT, "openblas_set_num_threads"));
  if (set != nullptr) set(threads);
  return set != nullptr;
}

HostBlas host_blas() {
  using Text = const char* (*)();
  const auto config = reinterpret_cast<Text>(dlsym(RTLD_DEFAULT, "openblas_get_config"));
  const auto core = reinterpret_cast<Text>(dlsym(RTLD_DEFAULT, "openblas_get_corename"));
  if (config == nullptr || core == nullptr) return {};
  const std::string all = config();  // "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ..."
  return {all.substr(0, all.find(' ', all.find(' ') + 1)), core()};
}

}  // namespace scalebench
