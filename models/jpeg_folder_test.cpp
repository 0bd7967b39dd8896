// SPDX-License-Identifier: Apache-2.0
#include "models/jpeg_folder.hpp"

#include <gtest/gtest.h>

#include "models/expect_error.hpp"
#include "models/test_jpegs.hpp"

namespace scalebench {
namespace {

constexpr ImageShape kShape{3, 16, 16, 10};

class JpegFolderTest : public testing::Test {
 protected:
  JpegFolderTest() { write_jpeg_folder(root.path()); }

  JpegFolder open(Split split, BadImages policy = BadImages::stop) const {
    return {root.path(), split, kShape, 1, policy};
  }
  JpegFolder::Read read(const JpegFolder& folder, std::int64_t index, int epoch = 0) {
    return folder.read(index, epoch, decoder, pixels);
  }
  /// Leaves so much of blue/`name` that its header is whole.
  void truncate(const char* name) const {
    const auto file = root.path() / "train/blue" / name;
    std::filesystem::resize_file(file, std::filesystem::file_size(file) - 40);
  }

  TemporaryFolder root;
  JpegDecoder decoder;
  std::vector<float> pixels = std::vector<float>(kShape.pixels());
};

TEST_F(JpegFolderTest, GivesTheClassAndItsColour) {
  for (const Split split : {Split::train, Split::test}) {
    const JpegFolder folder = open(split);
    EXPECT_EQ(folder.list().count(), split == Split::train ? 12 : 4);
    for (std::int64_t i = 0; i < folder.list().count(); ++i) {
      const auto [label, replaced] = read(folder, i);
      EXPECT_FALSE(replaced);
      EXPECT_EQ(label, 2 * i < folder.list().count() ? 0 : 1) << "blue, then red";
      const float red = pixels[100];
      const float blue = pixels[2 * 256 + 100];
      EXPECT_NEAR(label == 0 ? blue : red, 208 / 127.5 - 1, 0.08);
      EXPECT_NEAR(label == 0 ? red : blue, 38 / 127.5 - 1, 0.08);
    }
  }
}

TEST_F(JpegFolderTest, CropsByEpochWhileTrainingOnly) {
  for (const Split split : {Split::train, Split::test}) {
    const JpegFolder folder = open(split);
    read(folder, 1, 0);
    const auto first = pixels;
    read(folder, 1, 1);
    EXPECT_EQ(pixels == first, split == Split::test);
    read(folder, 1, 0);
    EXPECT_EQ(pixels, first);
  }
}

TEST_F(JpegFolderTest, StopsAtABrokenFile) {
  truncate("2.jpg");
  write_plain(root.path() / "train/red/0.jpg", {'G', 'I', 'F', '8'});
  std::filesystem::create_symlink("/nowhere", root.path() / "train/red/dangling.jpg");
  const JpegFolder folder = open(Split::train);
  read(folder, 1);
  expect_error([&] { read(folder, 2); }, {"train/blue/2.jpg", "damaged JPEG"});
  expect_error([&] { read(folder, 6); }, {"train/red/0.jpg", "not a JPEG"});
  expect_error([&] { read(folder, 12); }, {"train/red/dangling.jpg", "cannot open"});
  EXPECT_TRUE(folder.take_warnings().empty());
}

TEST_F(JpegFolderTest, SkipsBrokenFilesAndNamesEachOnce) {
  truncate("2.jpg");
  truncate("3.jpg");
  const JpegFolder folder = open(Split::train, BadImages::skip);
  read(folder, 4);
  const auto fourth = pixels;
  for (int times = 0; times < 3; ++times) {
    const auto [label, replaced] = read(folder, 2);
    EXPECT_TRUE(replaced);
    EXPECT_EQ(label, 0);
    EXPECT_EQ(pixels, fourth);
  }
  EXPECT_FALSE(read(folder, 4).replaced);
  const auto warnings = folder.take_warnings();
  ASSERT_EQ(warnings.size(), 2U);
  EXPECT_NE(warnings[0].find("blue/2.jpg"), std::string::npos) << warnings[0];
  EXPECT_NE(warnings[1].find("blue/3.jpg"), std::string::npos) << warnings[1];
  read(folder, 2);
  EXPECT_TRUE(folder.take_warnings().empty());
}

TEST_F(JpegFolderTest, TheLastImageIsReplacedByTheFirst) {
  write_plain(root.path() / "train/red/5.jpg", {});
  const JpegFolder folder = open(Split::train, BadImages::skip);
  const auto [label, replaced] = read(folder, 11);
  EXPECT_TRUE(replaced);
  EXPECT_EQ(label, 0);
}

TEST_F(JpegFolderTest, RefusesASetWithoutOneGoodImage) {
  for (const char* name : {"red/0.jpg", "red/1.jpg", "blue/0.jpg", "blue/1.jpg"}) {
    write_plain(root.path() / "val" / name, {1, 2, 3});
  }
  const JpegFolder folder = open(Split::test, BadImages::skip);
  expect_error([&] { read(folder, 0); }, {"val", "none of 4 images"});
}

TEST_F(JpegFolderTest, RefusesAModelOfOneChannel) {
  expect_error([&] { JpegFolder(root.path(), Split::train, {}, 1, BadImages::stop); },
               {root.path().string(), "3 channels", "found 1"});
}

}  // namespace
}  // namespace scalebench
