// SPDX-License-Identifier: Apache-2.0
#include "models/resize.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace scalebench {
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
