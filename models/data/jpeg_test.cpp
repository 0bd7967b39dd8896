// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "models/data/picture.hpp"
#include "models/testing.hpp"

namespace scalebench {
namespace {

/// The pixel in the middle.
std::array<int, 3> middle_of(const Picture& picture) {
  const int place = (picture.height / 2 * picture.width + picture.width / 2) * 3;
  const auto* pixel = picture.pixels.data() + place;
  return {pixel[0], pixel[1], pixel[2]};
}

void expect_colour(const Picture& picture, std::array<int, 3> wanted) {
  const auto got = middle_of(picture);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(got[i], wanted[i] + 8, 4) << "channel " << i;
}

TEST(JpegDecoder, DecodesAtEverySize) {
  const Bytes file = rgb_jpeg(50, 83, 200, 40, 100);
  JpegDecoder decoder;
  EXPECT_EQ(decoder.size(file).height, 50);
  EXPECT_EQ(decoder.size(file).width, 83);
  Picture picture;
  for (const int divisor : {1, 2, 4, 8}) {
    SCOPED_TRACE(divisor);
    decoder.decode(file, divisor, picture);
    EXPECT_EQ(picture.height, (50 + divisor - 1) / divisor);
    EXPECT_EQ(picture.width, (83 + divisor - 1) / divisor);
    ASSERT_EQ(picture.pixels.size(), static_cast<std::size_t>(picture.height * picture.width * 3));
    expect_colour(picture, {200, 40, 100});
  }
}

TEST(JpegDecoder, MakesGreyAndCmykRgb) {
  JpegDecoder decoder;
  Picture picture;
  decoder.decode(jpeg_of<1>(32, 32, {90}, TJPF_GRAY, TJSAMP_GRAY), 1, picture);
  expect_colour(picture, {90, 90, 90});
  // Inverted CMYK: key 247 + 8 in the middle is no black at all.
  decoder.decode(jpeg_of<4>(32, 32, {200, 40, 100, 240}, TJPF_CMYK), 1, picture);
  expect_colour(picture, {200 * 248 / 255, 40 * 248 / 255, 100 * 248 / 255});
}

TEST(JpegDecoder, RefusesWhatIsDamaged) {
  const Bytes good = rgb_jpeg(64, 64, 200, 40, 100);
  JpegDecoder decoder;
  Picture picture;
  const auto decode = [&](const Bytes& file) {
    return [&decoder, &picture, file] { decoder.decode(file, 1, picture); };
  };
  expect_error<Error>(decode({}), {"empty"});
  expect_error<Error>(decode({0x89, 'P', 'N', 'G'}), {"not a JPEG", "89 50"});
  expect_error<Error>(decode(Bytes(good.begin(), good.begin() + 20)), {"damaged JPEG"});
  // Cut right before the end marker, and in the pixels.
  for (const std::size_t length : {good.size() - 2, good.size() - 30}) {
    expect_error<Error>(decode(Bytes(good.begin(), good.begin() + static_cast<long>(length))),
                        {"damaged JPEG", "remature end"});
  }
  decode(good)();
  expect_colour(picture, {200, 40, 100});
}

TEST(JpegDecoder, RefusesASizeThatOnlyItsHeaderHas) {
  const Bytes small = rgb_jpeg(16, 16, 200, 40, 100);
  JpegDecoder decoder;
  Picture picture;
  // 2^28 pixels; one row too many; the most that libjpeg takes.
  for (const auto& [height, width, all] :
       {std::tuple(16384, 16384, "268435456"), std::tuple(8286, 10800, "89488800"),
        std::tuple(65500, 65500, "4290250000")}) {
    const Bytes claims =
        with_size_in_header(small, static_cast<unsigned>(height), static_cast<unsigned>(width));
    const std::string sides = fmt::format("{} x {} are {} pixels", width, height, all);
    expect_error<Error>([&] { decoder.size(claims); }, {sides, "at most 89478485"});
    expect_error<Error>([&] { decoder.decode(claims, 8, picture); }, {sides, "at most 89478485"});
  }
  EXPECT_EQ(picture.pixels.capacity(), 0U) << "nothing was made for them";
  EXPECT_EQ(decoder.size(with_size_in_header(small, 8285, 10800)).height, 8285);
  decoder.decode(small, 1, picture);
  expect_colour(picture, {200, 40, 100});
}

TEST(JpegDecoder, TakesBytesTooManyBeforeAMarker) {
  // Between the first marker and the next, where libjpeg skips to the next marker with a warning.
  Bytes file = rgb_jpeg(16, 16, 200, 40, 100);
  file.insert(file.end() - 2, {0x00, 0x00, 0x00});
  JpegDecoder decoder;
  Picture picture;
  decoder.decode(file, 1, picture);
  expect_colour(picture, {200, 40, 100});
}

}  // namespace
}  // namespace scalebench
