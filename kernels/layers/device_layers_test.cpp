// SPDX-License-Identifier: Apache-2.0
// The layers' kernels on a card against the same bodies with a thread of the host for each thread
// of a block: in the same grid every sum has the same order, so the same bits.
#include <gtest/gtest.h>

#include <vector>

#include "kernels/layers/input_body.hpp"
#include "kernels/layers/pool_body.hpp"
#include "kernels/layers/pool_test.hpp"
#include "kernels/layers/testing.hpp"

namespace scalebench {
namespace {

class DeviceLayer : public Device, public testing::WithParamInterface<DType> {};

/// NaN is the running variance of a single number.
void expect_same(const std::vector<std::vector<double>>& got,
                 const std::vector<std::vector<double>>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    ASSERT_EQ(got[i].size(), want[i].size());
    for (std::size_t at = 0; at < want[i].size(); ++at) {
      ASSERT_TRUE(got[i][at] == want[i][at] || (std::isnan(got[i][at]) && std::isnan(want[i][at])))
          << got[i][at] << " is not " << want[i][at] << " at " << at << " of array " << i;
    }
  }
}

TEST_P(DeviceLayer, NormHasTheBitsOfItsBodiesOnTheHost) {
  const OwnedStream stream;
  for (const auto& [rows, channels] :
       {std::pair<std::size_t, std::size_t>{1, 16}, {50, 24}, {1001, 64}, {77, 320}, {50, 2048}}) {
    const Activations shape{rows, channels, GetParam()};
    // Blocks of a warp or two, so that the host's threads are few.
    const Grid grid = grid_for(shape, channels == 64 ? 64 : 32, 6);
    for (const auto& [tail, twice] : {std::pair{Tail::none, false},
                                      {Tail::relu, false},
                                      {Tail::add_relu, false},
                                      {Tail::add_relu, true}}) {
      for (const bool training : {true, false}) {
        SCOPED_TRACE(fmt::format("{} x {}, tail {}, twice {}, training {}", rows, channels,
                                 static_cast<int>(tail), twice, training));
        NormArrays here(shape, grid, Memory::host), there(shape, grid, Memory::device);
        body::norm_forward(here.forward(tail, training), grid, thread_launcher(grid.threads));
        body::norm_backward(here.backward(tail, training, twice), grid,
                            thread_launcher(grid.threads));
        device::norm_forward(there.forward(tail, training), grid, stream.get());
        device::norm_backward(there.backward(tail, training, twice), grid, stream.get());
        stream.synchronize();
        expect_same(there.results(), here.results());
      }
    }
  }
}

// Blocks of the real size, as many as fill the card, and so few that each thread goes round often.
TEST_P(DeviceLayer, BlocksOfFullSizeAgreeWithTheHostWithinTheRoundingOfTheirSums) {
  const Activations shape{20'001, 64, GetParam()};
  const Grid host = host_grid(shape);
  // A thread adds up to 1000 numbers of size 2. Beside that a number of size 4 may be rounded to
  // the next bfloat16.
  const double close = 2000 * 0x1p-24 + (GetParam() == DType::float32 ? 0 : 4 * 0x1p-7);
  const auto expect_near = [&](const TestSpan& got, const TestSpan& want) {
    const std::vector<double> a = got.values(), b = want.values();
    for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], close) << i;
  };
  for (const Grid& grid : {device::layer_grid(shape), grid_for(shape, 256, 12)}) {
    for (const Tail tail : {Tail::none, Tail::relu, Tail::add_relu}) {
      NormArrays here(shape, host, Memory::host), there(shape, grid, Memory::device);
      norm_forward(here.forward(tail, true), host, in_order);
      device::norm_forward(there.forward(tail, true), grid, {});
      device_synchronize();
      expect_near(there.y, here.y);
      expect_near(there.running_mean, here.running_mean);
      expect_near(there.running_variance, here.running_variance);
      // The backward pass of the same forward pass, as a ReLU may be off elsewhere beside zero.
      copy(there.numbers, here.numbers);
      copy(there.positive, here.positive);
      norm_backward(here.backward(tail, true), host, in_order);
      device::norm_backward(there.backward(tail, true), grid, {});
      device_synchronize();
      expect_near(there.x_gradient, here.x_gradient);
      // The same bits twice.
      NormArrays again(shape, grid, Memory::device);
      device::norm_forward(again.forward(tail, true), grid, {});
      device::norm_backward(again.backward(tail, true), grid, {});
      device_synchronize();
      EXPECT_EQ(again.results(), there.results());
    }
  }
}

TEST_P(DeviceLayer, BiasHasTheBitsOfItsBodiesOnTheHost) {
  const OwnedStream stream;
  for (const std::size_t rows : {1, 50, 1001}) {
    const Activations shape{rows, 64, GetParam()};
    const Grid grid = grid_for(shape, 64, 6);
    NormArrays here(shape, grid, Memory::host), there(shape, grid, Memory::device);
    body::bias_forward(here.bias_forward(), grid, thread_launcher(grid.threads));
    body::bias_backward(here.bias_backward(), grid, thread_launcher(grid.threads));
    device::bias_forward(there.bias_forward(), grid, stream.get());
    device::bias_backward(there.bias_backward(), grid, stream.get());
    stream.synchronize();
    expect_same(there.results(), here.results());
  }
}

TEST_P(DeviceLayer, PoolHasTheHostsBits) {
  std::vector<PoolShape> shapes = pool_shapes();
  // As in a network: threads go round in a row, and blocks have one row each or several.
  shapes.push_back({3, 56, 56, 64, GetParam(), 3});
  shapes.push_back({1200, 28, 12, 8, GetParam(), 2});
  for (const PoolShape& shape : shapes) {
    if (shape.dtype != GetParam()) continue;
    for (const bool twice : {false, true}) {
      SCOPED_TRACE(text_of(shape, twice));
      PoolArrays here(shape, Memory::host), there(shape, Memory::device);
      pool_forward(here.forward(), in_order);
      pool_backward(here.backward(twice), in_order);
      device::pool_forward(there.forward(), {});
      device::pool_backward(there.backward(twice), {});
      device_synchronize();
      EXPECT_EQ(there.results(), here.results());
    }
  }
}

TEST_P(DeviceLayer, GatherHasTheHostsBits) {
  const ImageExtent has{1, 28, 28}, wanted{3, 34, 32};
  TestSpan images(10 * has.height * has.width / 4, DType::int32);
  images.fill([](std::size_t i) { return static_cast<double>(i * 2654435761U % 2147483647U); });
  const TestSpan indices(5, DType::float64);
  const std::vector<std::int64_t> chosen{9, 0, 4, 4, 7};
  std::copy(chosen.begin(), chosen.end(), reinterpret_cast<std::int64_t*>(indices.get().data));
  const TestSpan images_there(images.get().count, DType::int32, 0, Memory::device);
  const TestSpan indices_there(5, DType::float64, 0, Memory::device);
  copy(images, images_there);
  copy(indices, indices_there);
  for (const ImageLayout layout : {ImageLayout::plain, ImageLayout::padded, ImageLayout::blocks}) {
    const auto gather = [&](const TestSpan& from, const TestSpan& which) {
      return ImageGather{.images = reinterpret_cast<const std::uint8_t*>(from.get().data),
                         .indices = reinterpret_cast<const std::int64_t*>(which.get().data),
                         .count = 5,
                         .has = has,
                         .wanted = wanted,
                         .layout = layout,
                         .dtype = GetParam()};
    };
    ImageGather here = gather(images, indices), there = gather(images_there, indices_there);
    const TestSpan y(here.numbers(), GetParam());
    const TestSpan y_there(here.numbers(), GetParam(), 0, Memory::device);
    here.y = y.get().data;
    there.y = y_there.get().data;
    body::gather_images(here, 2, thread_launcher(8));
    device::gather_images(there, {});
    device_synchronize();
    EXPECT_EQ(y_there.values(), y.values());
    EXPECT_TRUE(y_there.margins_are_zero());
  }
}

INSTANTIATE_TEST_SUITE_P(BothTypes, DeviceLayer, testing::Values(DType::float32, DType::bfloat16),
                         [](const auto& test) { return std::string(name_of(test.param)); });

}  // namespace
}  // namespace scalebench
