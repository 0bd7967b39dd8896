// SPDX-License-Identifier: Apache-2.0
// That a grid's threads have every number once, that sums do not depend on chance, and that one
// thread a block, as on the host, finds what many find.
#include "kernels/layers/grid.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "kernels/layers/input_body.hpp"
#include "kernels/layers/testing.hpp"

namespace scalebench {
namespace {

class Place {
 public:
  Place(unsigned thread, unsigned tile, unsigned slice)
      : thread_(thread), tile_(tile), slice_(slice) {}
  unsigned thread() const { return thread_; }
  unsigned tile() const { return tile_; }
  unsigned slice() const { return slice_; }

 private:
  unsigned thread_, tile_, slice_;
};

TEST(Grid, ItsThreadsHaveEveryNumberOnce) {
  for (const std::size_t channels : {8, 16, 24, 64, 320, 2048}) {
    for (const std::size_t rows : {1, 7, 64, 1000}) {
      for (const unsigned threads : {1U, 32U, 256U}) {
        for (const std::size_t blocks : {1, 5, 396}) {
          const Activations shape{rows, channels, DType::float32};
          const Grid grid = grid_for(shape, threads, blocks);
          EXPECT_LE(grid.tiles * grid.slices, std::max<std::size_t>(blocks, grid.tiles));
          std::vector<int> seen(rows * channels / kWide);
          for (unsigned block = 0; block < grid.tiles * grid.slices; ++block) {
            for (unsigned thread = 0; thread < threads; ++thread) {
              const Place place(thread, block % grid.tiles, block / grid.tiles);
              const Share share = share_of(place, shape, grid);
              if (!share.any) continue;
              each_row<4>(
                  share, [](std::size_t row) { return row; },
                  [&](std::size_t row, std::size_t read) {
                    EXPECT_EQ(row, read);
                    ++seen[(row * channels + share.channel) / kWide];
                  });
            }
          }
          for (const int times : seen) ASSERT_EQ(times, 1) << rows << " x " << channels;
        }
      }
    }
  }
}

using Results = std::vector<std::vector<double>>;

void on_threads(NormArrays& arrays, Tail tail, const Grid& grid) {
  body::norm_forward(arrays.forward(tail, true), grid, thread_launcher(grid.threads));
  body::norm_backward(arrays.backward(tail, true), grid, thread_launcher(grid.threads));
}

TEST(Norm, SumsDoNotDependOnChance) {
  const Activations shape{300, 24, DType::bfloat16};
  const Grid grid = grid_for(shape, 8, 7);
  for (const Tail tail : {Tail::none, Tail::relu, Tail::add_relu}) {
    NormArrays once(shape, grid, Memory::host), twice(shape, grid, Memory::host);
    on_threads(once, tail, grid);
    on_threads(twice, tail, grid);
    EXPECT_EQ(once.results(), twice.results());
  }
}

void expect_near(const Results& got, const Results& want, double most) {
  for (std::size_t i = 0; i < want.size(); ++i) {
    for (std::size_t at = 0; at < want[i].size(); ++at) {
      // The running variance of a single number is none.
      if (std::isnan(got[i][at]) && std::isnan(want[i][at])) continue;
      ASSERT_NEAR(got[i][at], want[i][at], most) << "array " << i << " at " << at;
    }
  }
}

TEST(Norm, ABlockOfOneThreadFindsWhatManyFind) {
  for (const std::size_t channels : {16, 24, 64, 2048}) {
    for (const std::size_t rows : {1, 50, 301}) {
      for (const Tail tail : {Tail::none, Tail::relu, Tail::add_relu}) {
        SCOPED_TRACE(fmt::format("{} x {}, tail {}", rows, channels, static_cast<int>(tail)));
        const Activations shape{rows, channels, DType::float32};
        const Grid lone = host_grid(shape), many = grid_for(shape, 8, 5);
        NormArrays one(shape, lone, Memory::host), all(shape, many, Memory::host);
        norm_forward(one.forward(tail, true), lone, in_order);
        on_threads(all, tail, many);
        // Sums of at most 301 numbers of size 2 in another order.
        constexpr double kMost = 301 * 2 * 0x1p-23;
        expect_near({one.y.values(), one.numbers.values()}, {all.y.values(), all.numbers.values()},
                    kMost);
        // A ReLU that is off by a rounding would change a gradient by all of it.
        copy(all.numbers, one.numbers);
        copy(all.positive, one.positive);
        norm_backward(one.backward(tail, true), lone, in_order);
        expect_near({one.x_gradient.values(), one.weight_gradient.values()},
                    {all.x_gradient.values(), all.weight_gradient.values()}, kMost);
      }
    }
  }
}

TEST(Norm, RefusesOddChannelsAndOtherTypes) {
  const Activations odd{4, 12, DType::float32}, whole{4, 16, DType::int32};
  EXPECT_THROW(norm_forward({.shape = odd}, grid_for(odd, 1, 1), in_order), Error);
  EXPECT_THROW(bias_forward({.shape = whole}, grid_for(whole, 1, 1), in_order), Error);
}

/// As ImageStore promises; channels behind the wanted ones are zeros.
double pixel(const std::vector<std::uint8_t>& images, const ImageExtent& has,
             const ImageExtent& wanted, std::size_t image, std::size_t channel, std::size_t row,
             std::size_t column) {
  if (channel >= wanted.channels) return 0;
  const std::size_t top = (wanted.height - has.height) / 2, left = (wanted.width - has.width) / 2;
  const bool inside =
      row >= top && row < top + has.height && column >= left && column < left + has.width;
  if (!inside) return -1;
  const std::size_t plane = image * has.channels + (has.channels == 1 ? 0 : channel);
  const std::size_t at = (plane * has.height + row - top) * has.width + column - left;
  return images[at] * static_cast<float>(2.0 / 255.0) - 1.0F;
}

/// Number i of the result, by the definition of its layout.
double number(const std::vector<std::uint8_t>& images, const ImageGather& gather, std::size_t i) {
  const ImageExtent& wanted = gather.wanted;
  const auto image = [&](std::size_t at) { return static_cast<std::size_t>(gather.indices[at]); };
  if (gather.layout == ImageLayout::blocks) {
    const std::size_t across = wanted.width / 2 + 3, down = wanted.height / 2 + 3;
    const std::size_t block = i / 16, row = 2 * (block / across % down) + i / 8 % 2;
    const std::size_t column = 2 * (block % across) + i / 4 % 2;
    const bool inside =
        row >= 4 && row < wanted.height + 4 && column >= 4 && column < wanted.width + 4;
    if (!inside) return 0;
    return pixel(images, gather.has, wanted, image(block / across / down), i % 4, row - 4,
                 column - 4);
  }
  const bool wide = gather.layout == ImageLayout::padded;
  const std::size_t channels = !wide ? 3 : gather.dtype == DType::float32 ? 4 : 8;
  const std::size_t at = i / channels, row = at / wanted.width % wanted.height;
  return pixel(images, gather.has, wanted, image(at / wanted.width / wanted.height), i % channels,
               row, at % wanted.width);
}

TEST(GatherImages, LaysOutScalesAndRepeatsInAnyNumberOfThreads) {
  const std::vector<std::int64_t> indices{3, 0, 3};
  for (const ImageExtent& has : {ImageExtent{1, 3, 4}, ImageExtent{3, 4, 4}}) {
    for (const ImageExtent& wanted :
         {ImageExtent{3, 4, 4}, ImageExtent{3, 5, 9}, ImageExtent{3, 8, 6}}) {
      std::vector<std::uint8_t> images(4 * has.channels * has.height * has.width);
      for (std::size_t i = 0; i < images.size(); ++i) images[i] = i * 37 % 256;
      for (const ImageLayout layout :
           {ImageLayout::plain, ImageLayout::padded, ImageLayout::blocks}) {
        if (layout == ImageLayout::blocks && wanted.height % 2 == 1) continue;
        for (const DType dtype : {DType::float32, DType::bfloat16}) {
          ImageGather gather{images.data(), indices.data(), indices.size(), has,
                             wanted,        layout,         nullptr,        dtype};
          const auto made = [&](auto run) {
            const TestSpan y(gather.numbers(), dtype);
            gather.y = y.get().data;
            run();
            EXPECT_TRUE(y.margins_are_zero());
            return y.values();
          };
          TestSpan expected(gather.numbers(), dtype);
          expected.fill([&](std::size_t i) { return number(images, gather, i); });
          EXPECT_EQ(made([&] { gather_images(gather, in_order); }), expected.values());
          EXPECT_EQ(made([&] { body::gather_images(gather, 3, thread_launcher(4)); }),
                    expected.values());
        }
      }
    }
  }
}

}  // namespace
}  // namespace scalebench
