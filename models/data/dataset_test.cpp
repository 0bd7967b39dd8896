// SPDX-License-Identifier: Apache-2.0
#include "models/data/dataset.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "models/data/image_folder.hpp"
#include "models/testing.hpp"

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

TEST_F(DirectoryTest, TellsSetsOfOneNameApart) {
  const std::string name = folder.path().filename();
  const std::string id = load(Split::train).id;
  EXPECT_TRUE(id.starts_with(name + ":3:")) << id;
  EXPECT_EQ(load(Split::train).id, id);
  EXPECT_TRUE(load(Split::test).id.starts_with(name + ":1:"));
  write_gz(at("train-labels-idx1-ubyte.gz"), idx_bytes({3}, {9, 0, 5}));
  EXPECT_NE(load(Split::train).id, id) << "as many images, another label";
}

// Their cases and checkpoints go by the name alone.
TEST_F(DirectoryTest, KnowsPublishedSetsByNameAndNumber) {
  const auto id_of = [&](const char* name, std::uint32_t count) {
    const std::filesystem::path set = folder.path() / name;
    std::filesystem::create_directories(set);
    write_plain(set / "train-images-idx3-ubyte", idx_bytes({count, 1, 1}, Bytes(count)));
    write_plain(set / "train-labels-idx1-ubyte", idx_bytes({count}, Bytes(count)));
    return load_dataset(set.string(), Split::train, ImageShape{}, 1).id;
  };
  EXPECT_EQ(id_of("mnist", 60'000), "mnist");
  EXPECT_EQ(id_of("fashion-mnist", 60'000), "fashion-mnist");
  EXPECT_TRUE(id_of("mnist", 600).starts_with("mnist:600:"));
  EXPECT_TRUE(id_of("raw", 60'000).starts_with("raw:60000:")) << "of which there are several";
  EXPECT_EQ(load_dataset("synthetic:60", Split::train, ImageShape{}, 1).id, "synthetic:60");
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
  for (const char* name :
       {"synthetic:", "synthetic:5", "synthetic:10x", "synthetic:-6", "synthetic:1000000000001"}) {
    expect_error([&] { load_dataset(name, Split::train, {}, 1); }, {name, "at least 6"});
  }
}

TEST(LoadDataset, SaysWhyAPathCannotBeLookedAt) {
  const TemporaryFolder folder;
  const std::filesystem::path loop = folder.path() / "loop";
  std::filesystem::create_symlink(loop, loop);
  const std::string longest(300, 'x');
  for (const std::string& source : {loop.string(), longest}) {
    const std::string_view why = source == longest ? "too long" : "symbolic links";
    expect_error([&] { is_jpeg_folder(source); }, {source, why});
    expect_error([&] { load_dataset(source, Split::train, {}, 1); }, {source, why});
  }
  // Of files, too: of MNIST, of CIFAR-10, in the folder of a class, and beside such.
  const auto refused = [&](const std::filesystem::path& link) {
    std::filesystem::create_directories(link.parent_path());
    std::filesystem::create_symlink(link.filename(), link);
    const std::string root = (folder.path() / *link.lexically_relative(folder.path()).begin());
    expect_error(
        [&] {
          if (!is_jpeg_folder(root)) load_dataset(root, Split::train, {}, 1);
          list_image_folder(root, Split::train, 10);
        },
        {link.string(), "symbolic links"});
  };
  refused(folder.path() / "mnist" / "train-images-idx3-ubyte");
  refused(folder.path() / "classes" / "cat" / "a.jpg");
  refused(folder.path() / "beside" / "cat");
  std::filesystem::create_directories(folder.path() / "cifar");
  write_plain(folder.path() / "cifar" / "data_batch_2.bin", {});
  refused(folder.path() / "cifar" / "data_batch_1.bin");
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

namespace {

class IdxTest : public testing::Test {
 protected:
  void expect_refused(const Bytes& bytes, std::initializer_list<std::string_view> parts) {
    write_plain(file, bytes);
    expect_error([&] { read_idx(file, 3); }, {"set-file"});
    expect_error([&] { read_idx(file, 3); }, parts);
  }

  TemporaryFolder folder;
  std::filesystem::path file = folder.path() / "set-file";
  Bytes good = idx_bytes({2, 2, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 255});
};

TEST_F(IdxTest, ReadsPlainAndCompressedAlike) {
  for (const auto write : {write_plain, write_gz}) {
    write(file, good);
    const Idx idx = read_idx(file, 3);
    EXPECT_EQ(idx.dimensions, (std::vector<std::int64_t>{2, 2, 3}));
    EXPECT_EQ(idx.values, (Bytes{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 255}));
  }
}

TEST_F(IdxTest, ReadsMoreThanOneChunk) {
  Bytes values(3'000'001);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::uint8_t>(i * 7);
  write_gz(file, idx_bytes({3'000'001}, values));
  EXPECT_EQ(read_idx(file, 1).values, values);
}

TEST_F(IdxTest, RefusesMissingFile) {
  expect_error([&] { read_idx(file, 3); }, {"set-file", "cannot open", "No such file"});
}

TEST_F(IdxTest, RefusesDirectory) {
  expect_error([&] { read_idx(folder.path(), 3); }, {folder.path().string()});
}

TEST_F(IdxTest, RefusesBadMagic) {
  good[1] = 0x42;
  expect_refused(good, {"expected an IDX file", "00 42"});
}

TEST_F(IdxTest, RefusesOtherElementTypes) {
  good[2] = 0x0d;
  expect_refused(good, {"08 (unsigned byte)", "found 0d"});
}

TEST_F(IdxTest, RefusesOtherNumberOfDimensions) {
  expect_refused(idx_bytes({2}, {1, 2}), {"expected 3 dimensions, found 1"});
}

TEST_F(IdxTest, RefusesEveryTruncation) {
  for (std::size_t length = 0; length < good.size(); ++length) {
    expect_refused(Bytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(length)),
                   {"expected", "found"});
  }
  good.pop_back();
  expect_refused(good, {"expected 12 bytes after the header, found 11 (truncated)"});
}

TEST_F(IdxTest, RefusesTrailingBytes) {
  good.push_back(0);
  expect_refused(good, {"expected 12 bytes after the header, found 13 (trailing bytes)"});
}

TEST_F(IdxTest, RefusesSizesBeyondMemory) {
  expect_refused(idx_bytes({0xffffffff, 0xffffffff, 0xffffffff}, {1}), {"fit in memory"});
}

TEST_F(IdxTest, RefusesDamagedAndTruncatedCompression) {
  write_gz(file, idx_bytes({100, 20, 20}, Bytes(40'000, 3)));
  Bytes bytes(std::filesystem::file_size(file));
  std::ifstream(file, std::ios::binary)
      .read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  Bytes damaged = bytes;
  damaged[damaged.size() / 2] ^= 0xffU;
  expect_refused(damaged, {"damage"});
  damaged = bytes;
  damaged[damaged.size() - 6] ^= 0xffU;  // the stored check sum
  expect_refused(damaged, {"damage"});
  bytes.resize(bytes.size() / 2);
  expect_refused(bytes, {"damage", "unexpected end of file"});
}

}  // namespace

}  // namespace scalebench
