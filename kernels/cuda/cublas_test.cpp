// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/cublas.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <string>

namespace scalebench {
namespace {

TEST(Cublas, IsLoadedWhenItIsAskedForAlsoWithoutACard) {
  const std::string name = "libcublas.so." + std::to_string(CUBLAS_VER_MAJOR);
  EXPECT_EQ(dlopen(name.c_str(), RTLD_NOW | RTLD_NOLOAD), nullptr);
  const device::Cublas& calls = device::cublas();
  EXPECT_NE(dlopen(name.c_str(), RTLD_NOW | RTLD_NOLOAD), nullptr);
  EXPECT_STRNE(calls.status_string(CUBLAS_STATUS_SUCCESS),
               calls.status_string(CUBLAS_STATUS_NOT_SUPPORTED));
  EXPECT_NE(calls.gemm_ex, nullptr);
}

}  // namespace
}  // namespace scalebench
