// SPDX-License-Identifier: Apache-2.0
#include "models/dataset.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "models/expect_error.hpp"
#include "models/test_files.hpp"

namespace scalebench {
namespace {

class DirectoryTest : public testing::Test {
 protected:
  DirectoryTest() {
    write_plain(at("train-images-idx3-ubyte"), idx_bytes({3, 1, 2}, {1, 2, 3, 4, 5, 6}));
    write_gz(at("train-labels-idx1-ubyte.gz"), idx_bytes({3}, {9, 0, 4}));
    write_gz(at("t10k-images.idx3-ubyte.gz"), idx_bytes({1, 1, 2}, {7, 8}));
    write_plain(at("t10k-labels.idx1-ubyte"), idx_bytes({1}, {5}));
  }
  std::filesystem::path at(const char* name) const { return folder.path() / name; }
  Dataset load(Split split) const {
    return load_dataset(folder.path().string(), split, ImageShape{}, 1);
  }

  TemporaryFolder folder;
};

TEST_F(DirectoryTest, ReadsAllSpellings) {
  const Dataset train = load(Split::train);
  EXPECT_EQ(train.name, folder.path().filename());
  EXPECT_EQ(train.count(), 3);
  EXPECT_EQ(train.shape.channels, 1);
  EXPECT_EQ(train.shape.height, 1);
  EXPECT_EQ(train.shape.width, 2);
  EXPECT_EQ(train.images, (Bytes{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(train.labels, (Bytes{9, 0, 4}));
  const Dataset test = load(Split::test);
  EXPECT_EQ(test.images, (Bytes{7, 8}));
  EXPECT_EQ(test.labels, (Bytes{5}));
}

TEST_F(DirectoryTest, RefusesMissingFile) {
  std::filesystem::remove(at("train-images-idx3-ubyte"));
  expect_error([&] { load(Split::train); },
               {folder.path().string(), "train-images-idx3-ubyte", "neither"});
}

TEST_F(DirectoryTest, RefusesOtherNumberOfLabels) {
  write_gz(at("train-labels-idx1-ubyte.gz"), idx_bytes({2}, {9, 0}));
  expect_error([&] { load(Split::train); },
               {"train-labels-idx1-ubyte.gz", "3 images", "train-images-idx3-ubyte", "found 2"});
}

TEST_F(DirectoryTest, RefusesLabelsBeyondTheClasses) {
  write_gz(at("train-labels-idx1-ubyte.gz"), idx_bytes({3}, {9, 10, 4}));
  expect_error([&] { load(Split::train); }, {"labels below 10", "found 10 at index 1"});
}

TEST_F(DirectoryTest, RefusesImagesLargerThanTheModels) {
  write_plain(at("train-images-idx3-ubyte"), idx_bytes({3, 1, 29}, Bytes(87)));
  expect_error([&] { load(Split::train); }, {"at most 28x28", "found 1x29"});
}

TEST(LoadDataset, RefusesUnknownNames) {
  expect_error([] { load_dataset("fashion-minst", Split::train, {}, 1); },
               {"fashion-minst", "fashion-mnist", "synthetic", "directory"});
  for (const char* name : {"synthetic:", "synthetic:5", "synthetic:10x", "synthetic:-6"}) {
    expect_error([&] { load_dataset(name, Split::train, {}, 1); }, {name, "at least 6"});
  }
}

TEST(LoadDataset, FashionMnist) {
  if (!std::filesystem::is_directory(kFashionMnistDirectory)) GTEST_SKIP() << "not installed";
  const Dataset train = load_dataset("fashion-mnist", Split::train, {}, 1);
  EXPECT_EQ(train.name, "fashion-mnist");
  EXPECT_EQ(train.count(), 60'000);
  EXPECT_EQ(std::count(train.labels.begin(), train.labels.end(), 3), 6'000);
  EXPECT_EQ(load_dataset("fashion-mnist", Split::test, {}, 1).count(), 10'000);
}

TEST(Synthetic, IsDeterministicAndSharesPatternsOnly) {
  const ImageShape shape{3, 32, 32, 10};
  const Dataset train = load_dataset("synthetic:600", Split::train, shape, 5);
  EXPECT_EQ(train.name, "synthetic:600");
  EXPECT_EQ(train.count(), 600);
  EXPECT_EQ(train.images.size(), 600U * 3 * 32 * 32);
  EXPECT_EQ(train.images, load_dataset("synthetic:600", Split::train, shape, 5).images);
  EXPECT_NE(train.images, load_dataset("synthetic:600", Split::train, shape, 6).images);
  EXPECT_EQ(std::set(train.labels.begin(), train.labels.end()).size(), 10U);
  const Dataset test = load_dataset("synthetic:600", Split::test, shape, 5);
  EXPECT_EQ(test.count(), 100);
  EXPECT_FALSE(std::equal(test.labels.begin(), test.labels.end(), train.labels.begin()));
}

TEST(Synthetic, KeepsItsBytes) {
  // Fixed so that accuracies of different versions can be compared.
  const Dataset set = synthetic_dataset(4, Split::train, ImageShape{}, 1);
  EXPECT_EQ(Bytes(set.images.begin(), set.images.begin() + 4), (Bytes{146, 110, 204, 91}));
  EXPECT_EQ(set.labels, (Bytes{0, 9, 2, 2}));
}

}  // namespace
}  // namespace scalebench
