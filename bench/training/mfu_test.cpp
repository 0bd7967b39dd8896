// SPDX-License-Identifier: Apache-2.0
#include "bench/training/mfu.hpp"

#include <gtest/gtest.h>

namespace scalebench {
namespace {

TEST(PublishedPeak, GoesByHowTheNameBegins) {
  EXPECT_EQ(published_flops("NVIDIA H200", Precision::bfloat16), 989.5e12);
  EXPECT_EQ(published_flops("NVIDIA H200", Precision::float32), 67e12);
  EXPECT_EQ(published_flops("NVIDIA H200 NVL", Precision::bfloat16), 835.5e12);
  EXPECT_EQ(published_flops("NVIDIA A100-SXM4-80GB", Precision::tf32), 156e12);
  EXPECT_EQ(published_flops("NVIDIA A100 80GB PCIe", Precision::bfloat16), 312e12);
  EXPECT_EQ(published_flops("NVIDIA L4", Precision::bfloat16), 121e12);
  EXPECT_EQ(published_flops("Tesla V100-SXM2-16GB", Precision::fp16), 125e12);
  EXPECT_EQ(published_flops("Tesla K80", Precision::float32), 4.37e12);
}

TEST(PublishedPeak, IsEmptyForWhatIsNotKnown) {
  EXPECT_FALSE(published_flops("cpu", Precision::float32));
  EXPECT_FALSE(published_flops("NVIDIA GeForce RTX 4090", Precision::bfloat16));
  EXPECT_FALSE(published_flops("NVIDIA H100", Precision::bfloat16)) << "which of them is not said";
  EXPECT_FALSE(published_flops("NVIDIA L40", Precision::bfloat16)) << "it is no L4";
  EXPECT_FALSE(published_flops("NVIDIA A100X", Precision::bfloat16)) << "it is no A100";
  EXPECT_FALSE(published_flops("NVIDIA A100-SXM4-40GB MIG 1g.5gb", Precision::bfloat16))
      << "a slice";
  EXPECT_FALSE(published_flops("Tesla V100-SXM2-16GB", Precision::bfloat16)) << "it has none";
}

}  // namespace
}  // namespace scalebench
