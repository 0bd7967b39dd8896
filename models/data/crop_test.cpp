// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

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

}  // namespace scalebench
