// SPDX-License-Identifier: Apache-2.0
// The update rules on a device against their twins on the host, step after step.
#include "kernels/device_kernels.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernels/buffer.hpp"
#include "kernels/testing.hpp"

namespace scalebench {
namespace {

class DeviceUpdate : public Device {};

/// Floats in both memories.
class Twin {
 public:
  Twin(std::size_t count, float scale)
      : host_(count), device_(count + 1, DType::float32, Memory::device) {
    for (std::size_t i = 0; i < count; ++i) {
      host_[i] = scale * std::sin(static_cast<float>(i + count));
    }
  }
  /// `shift`: 1 lies beside what four floats at a time need.
  float* on_device(std::size_t shift) {
    auto* const to = device_.span().as<float>().data() + shift;
    if (!host_.empty()) device_copy(host_.data(), to, host_.size() * sizeof(float));
    return to;
  }
  std::vector<float>& host() { return host_; }
  void expect_equal(std::size_t shift) const {
    std::vector<float> got(host_.size());
    const auto* const from = device_.span().as<float>().data() + shift;
    if (!got.empty()) device_copy(from, got.data(), got.size() * sizeof(float));
    for (std::size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], host_[i]) << i;
  }

 private:
  std::vector<float> host_;
  Buffer device_;
};

struct TwinPart {
  explicit TwinPart(std::size_t count)
      : parameters(count, 1), gradients(count, 2), first(count, 0), second(count, 0) {}
  UpdatePart part(std::size_t shift) {
    return {parameters.on_device(shift),
            gradients.on_device(0),
            {first.on_device(0), second.on_device(0)},
            parameters.host().size()};
  }
  Twin parameters, gradients, first, second;
};

/// More parts than one launch takes, of sizes with and without remainders.
std::vector<TwinPart> many_parts() {
  std::vector<TwinPart> parts;
  for (std::size_t i = 0; i < 130; ++i) parts.emplace_back(i == 50 ? 1'000'003 : i * 7 % 40);
  return parts;
}

TEST_F(DeviceUpdate, SgdHasTheHostsBits) {
  for (const std::size_t shift : {0, 1}) {
    std::vector<TwinPart> twins = many_parts();
    std::vector<UpdatePart> parts;
    for (TwinPart& twin : twins) parts.push_back(twin.part(shift));
    const Buffer rate(1, DType::float64, Memory::device);
    for (const double wanted : {0.1, 0.05, 0.05}) {
      device_copy(&wanted, rate.span().data, sizeof(wanted));
      sgd_update(parts, 0.9F, rate.span().as<double>().data(), {});
      for (TwinPart& twin : twins) {
        sgd_update(twin.parameters.host(), twin.gradients.host(), twin.first.host(), 0.9F,
                   static_cast<float>(wanted));
      }
    }
    device_synchronize();
    for (const TwinPart& twin : twins) {
      twin.parameters.expect_equal(shift);
      twin.first.expect_equal(0);
    }
  }
}

TEST_F(DeviceUpdate, AdamHasTheHostsBitsAndCountsItsSteps) {
  std::vector<TwinPart> twins = many_parts();
  std::vector<UpdatePart> parts;
  for (TwinPart& twin : twins) parts.push_back(twin.part(0));
  const double rate = 0.01;
  const Buffer rate_there(1, DType::float64, Memory::device);
  device_copy(&rate, rate_there.span().data, sizeof(rate));
  const Buffer progress(sizeof(AdamProgress) / sizeof(double), DType::float64, Memory::device);
  auto* const there = reinterpret_cast<AdamProgress*>(progress.span().data);
  AdamStep step{0.9, 0.999, 1e-8, 0, 0};
  for (int t = 1; t <= 5; ++t) {
    adam_update(parts, step, rate_there.span().as<double>().data(), there, {});
    AdamProgress got;
    device_copy(there, &got, sizeof(got));
    EXPECT_EQ(got.steps, t);
    EXPECT_FLOAT_EQ(got.step_size, static_cast<float>(rate / (1 - std::pow(step.beta1, t))));
    EXPECT_FLOAT_EQ(got.bias2_root, static_cast<float>(std::sqrt(1 - std::pow(step.beta2, t))));
    step.step_size = got.step_size;
    step.bias2_root = got.bias2_root;
    for (TwinPart& twin : twins) {
      adam_update(twin.parameters.host(), twin.gradients.host(), twin.first.host(),
                  twin.second.host(), step);
    }
  }
  for (const TwinPart& twin : twins) {
    twin.parameters.expect_equal(0);
    twin.first.expect_equal(0);
    twin.second.expect_equal(0);
  }
}

}  // namespace
}  // namespace scalebench
