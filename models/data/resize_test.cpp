// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "models/data/picture.hpp"

namespace scalebench {
namespace {

TEST(TrainingCrop, StaysInsideAndKeepsItsLimits) {
  int mirrored = 0;
  double area = 0;
  constexpr int kImages = 2000;
  for (int image = 0; image < kImages; ++image) {
    const Crop crop = training_crop(300, 400, 1, 0, image);
    EXPECT_GE(crop.top, 0);
    EXPECT_GE(crop.left, 0);
    EXPECT_LE(crop.top + crop.height, 300);
    EXPECT_LE(crop.left + crop.width, 400);
    // Sides are rounded to whole pixels: a little beyond the limits.
    EXPECT_GT(crop.height * crop.width, 0.075 * 300 * 400);
    EXPECT_NEAR(std::log(crop.width / crop.height), 0, std::log(4.0 / 3.0) + 0.02);
    EXPECT_EQ(crop.top, std::floor(crop.top));
    mirrored += crop.mirrored ? 1 : 0;
    area += crop.height * crop.width / (300 * 400) / kImages;
  }
  EXPECT_NEAR(mirrored, kImages / 2, 120);
  // Of areas uniform between 0.08 and 1 those that do not fit are drawn again, all of them large.
  EXPECT_GT(area, 0.40);
  EXPECT_LT(area, 0.54);
}

TEST(TrainingCrop, DependsOnSeedEpochAndImageAlone) {
  const auto same = [](const Crop& a, const Crop& b) {
    return a.top == b.top && a.left == b.left && a.height == b.height && a.width == b.width &&
           a.mirrored == b.mirrored;
  };
  const Crop crop = training_crop(300, 400, 1, 2, 3);
  EXPECT_TRUE(same(crop, training_crop(300, 400, 1, 2, 3)));
  EXPECT_FALSE(same(crop, training_crop(300, 400, 2, 2, 3)));
  EXPECT_FALSE(same(crop, training_crop(300, 400, 1, 3, 3)));
  EXPECT_FALSE(same(crop, training_crop(300, 400, 1, 2, 4)));
}

TEST(TrainingCrop, TakesTheMiddleOfWhatIsTooLong) {
  // 100 x 1: no part of 8 % has sides in the ratio asked for, however often one is drawn.
  const Crop crop = training_crop(100, 1, 1, 0, 0);
  EXPECT_EQ(crop.width, 1);
  EXPECT_EQ(crop.height, 1);
  EXPECT_EQ(crop.top, 49.5);
}

TEST(EvaluationCrop, IsTheMiddleOfTheShorterSide) {
  const Crop crop = evaluation_crop(256, 512, 224, 224);
  EXPECT_DOUBLE_EQ(crop.height, 224);
  EXPECT_DOUBLE_EQ(crop.width, 224);
  EXPECT_DOUBLE_EQ(crop.top, 16);
  EXPECT_DOUBLE_EQ(crop.left, 144);
  EXPECT_FALSE(crop.mirrored);
  const Crop wide = evaluation_crop(100, 100, 10, 20);
  EXPECT_DOUBLE_EQ(wide.width, 87.5);
  EXPECT_DOUBLE_EQ(wide.height, 43.75);
}

}  // namespace

namespace {

/// Red grows by 10 a column, green by 20 a row, blue is 255.
Picture ramp(int height, int width) {
  Picture picture{height, width, {}};
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      picture.pixels.push_back(static_cast<std::uint8_t>(10 * x));
      picture.pixels.push_back(static_cast<std::uint8_t>(20 * y));
      picture.pixels.push_back(255);
    }
  }
  return picture;
}

/// As 0 to 255 again.
std::vector<double> resized(const Picture& picture, const Crop& crop, int height, int width) {
  std::vector<float> out(static_cast<std::size_t>(3 * height * width));
  resize(picture, crop, height, width, out);
  std::vector<double> bytes;
  for (const float value : out) bytes.push_back((static_cast<double>(value) + 1) * 127.5);
  return bytes;
}

void expect_near(const std::vector<double>& got, const std::vector<double>& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 1e-3) << i;
}

TEST(Resize, KeepsAPartOfTheSameSize) {
  expect_near(resized(ramp(4, 5), {1, 2, 2, 3}, 2, 3),
              {20, 30, 40, 20, 30, 40, 20, 20, 20, 40, 40, 40, 255, 255, 255, 255, 255, 255});
}

TEST(Resize, MirrorsColumns) {
  expect_near(resized(ramp(2, 3), {0, 0, 1, 3, true}, 1, 3), {20, 10, 0, 0, 0, 0, 255, 255, 255});
}

TEST(Resize, InterpolatesBetweenCentres) {
  // Two pixels 0, 10 to four: centres at 0.25, 0.75, 1.25, 1.75, and nothing beyond the border.
  expect_near(resized(ramp(1, 2), {0, 0, 1, 2}, 1, 4),
              {0, 2.5, 7.5, 10, 0, 0, 0, 0, 255, 255, 255, 255});
}

TEST(Resize, CountsEveryPixelWhenReducing) {
  // Four pixels 0, 10, 20, 30 to two: triangle weights 3, 3, 1 of 7 (Pillow gives 7 and 23).
  const auto got = resized(ramp(1, 4), {0, 0, 1, 4}, 1, 2);
  EXPECT_NEAR(got[0], 50.0 / 7, 1e-3);
  EXPECT_NEAR(got[1], 160.0 / 7, 1e-3);
}

TEST(Resize, LooksAtNothingOutsideThePart) {
  Picture picture = ramp(1, 4);
  picture.pixels[0] = 250;
  picture.pixels[9] = 250;
  expect_near(resized(picture, {0, 1, 1, 2}, 1, 1), {15, 0, 255});
}

}  // namespace

}  // namespace scalebench
