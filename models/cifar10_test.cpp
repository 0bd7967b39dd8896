// SPDX-License-Identifier: Apache-2.0
#include "models/cifar10.hpp"

#include <gtest/gtest.h>

#include "models/expect_error.hpp"
#include "models/test_files.hpp"

namespace scalebench {
namespace {

/// A record whose pixels all have the value `pixel`, but for the first of each plane, 0 to 2.
Bytes record(std::uint8_t label, std::uint8_t pixel) {
  Bytes bytes(3073, pixel);
  bytes[0] = label;
  for (std::size_t plane = 0; plane < 3; ++plane) {
    bytes[1 + plane * 1024] = static_cast<std::uint8_t>(plane);
  }
  return bytes;
}

class Cifar10Test : public testing::Test {
 protected:
  Cifar10Test() {
    std::filesystem::create_directory(folder);
    for (std::uint8_t batch = 1; batch <= 5; ++batch) {
      write_plain(folder / ("data_batch_" + std::to_string(batch) + ".bin"), record(batch, 100));
    }
    Bytes two = record(9, 7);
    const Bytes second = record(0, 8);
    two.insert(two.end(), second.begin(), second.end());
    write_plain(folder / "test_batch.bin", two);
  }
  Dataset load(Split split) const {
    return load_dataset(root.path().string(), split, ImageShape{3, 32, 32, 10}, 1);
  }

  TemporaryFolder root;
  std::filesystem::path folder = root.path() / "cifar-10-batches-bin";
};

TEST_F(Cifar10Test, ReadsAllBatchesInOrderAlsoFromTheSubfolder) {
  const Dataset train = load(Split::train);
  EXPECT_EQ(train.name, "cifar-10");
  EXPECT_EQ(train.labels, (Bytes{1, 2, 3, 4, 5}));
  EXPECT_EQ(train.shape.channels, 3);
  EXPECT_EQ(train.shape.height, 32);
  EXPECT_EQ(train.images.size(), 5U * 3072);
  EXPECT_EQ(train.images[3072 + 1024], 1) << "second image, green plane";
  EXPECT_EQ(train.images[3072 + 1025], 100);
  const Dataset test = load_dataset(folder.string(), Split::test, ImageShape{3, 32, 32, 10}, 1);
  EXPECT_EQ(test.labels, (Bytes{9, 0}));
  EXPECT_EQ(test.images[1], 7);
  EXPECT_EQ(test.images[3072 + 1], 8);
}

TEST_F(Cifar10Test, RefusesMissingTruncatedAndForeignFiles) {
  Bytes cut = record(1, 1);
  cut.pop_back();
  write_plain(folder / "data_batch_3.bin", cut);
  expect_error([&] { load(Split::train); }, {"data_batch_3.bin", "3073", "found 3072"});
  write_plain(folder / "data_batch_3.bin", {});
  expect_error([&] { load(Split::train); }, {"data_batch_3.bin", "found 0 bytes"});
  write_plain(folder / "data_batch_3.bin", record(10, 1));
  expect_error([&] { load(Split::train); }, {"labels below 10", "found 10 in record 0"});
  std::filesystem::remove(folder / "data_batch_3.bin");
  expect_error([&] { load(Split::train); }, {"data_batch_3.bin is missing"});
  EXPECT_EQ(load(Split::test).count(), 2);
}

}  // namespace
}  // namespace scalebench
