// SPDX-License-Identifier: Apache-2.0
#include "models/data/image_folder.hpp"

#include <gtest/gtest.h>

#include <set>

#include "models/testing.hpp"

namespace scalebench {
namespace {

namespace fs = std::filesystem;

class ImageFolderTest : public testing::Test {
 protected:
  void add(const std::string& file) {
    fs::create_directories((root.path() / file).parent_path());
    write_plain(root.path() / file, {1});
  }
  ImageFolder list(Split split, int most_classes = 10) const {
    return list_image_folder(root.path(), split, most_classes);
  }

  TemporaryFolder root;
};

TEST_F(ImageFolderTest, ListsSplitsByClassThenName) {
  for (const char* file : {"train/dog/b.jpg", "train/dog/a.JPEG", "train/cat/z.jpeg",
                           "train/cat/notes.txt", "train/.hidden/x.jpg", "val/dog/v.jpg"}) {
    add(file);
  }
  const ImageFolder train = list(Split::train);
  EXPECT_EQ(train.name, root.path().filename());
  EXPECT_EQ(train.classes, (std::vector<std::string>{"cat", "dog"}));
  ASSERT_EQ(train.count(), 3);
  EXPECT_EQ(train.path(0), root.path() / "train/cat/z.jpeg");
  EXPECT_EQ(train.path(1), root.path() / "train/dog/a.JPEG");
  EXPECT_EQ(train.images[0].label, 0);
  EXPECT_EQ(train.images[2].label, 1);
  const ImageFolder test = list(Split::test);
  ASSERT_EQ(test.count(), 1);
  EXPECT_EQ(test.images[0].label, 1) << "the place among the training classes";
  EXPECT_EQ(test.path(0), root.path() / "val/dog/v.jpg");
  EXPECT_TRUE(is_jpeg_folder(root.path().string()));
}

TEST_F(ImageFolderTest, TellsFoldersOfOneNameApart) {
  for (const char* file :
       {"train/cat/1.jpg", "train/cat/2.jpg", "train/dog/3.jpg", "val/dog/4.jpg"})
    add(file);
  const std::string id = list(Split::train).id;
  EXPECT_TRUE(id.starts_with(list(Split::train).name + ":3:")) << id;
  fs::rename(root.path() / "train/cat/2.jpg", root.path() / "train/cat/5.jpg");
  EXPECT_NE(list(Split::train).id, id) << "another file";
  fs::rename(root.path() / "train/cat/5.jpg", root.path() / "train/dog/2.jpg");
  EXPECT_NE(list(Split::train).id, id) << "of another class";
}

TEST_F(ImageFolderTest, DividesWithoutSplitsByName) {
  for (int i = 0; i < 500; ++i) {
    add("a/" + std::to_string(i) + ".jpg");
    add("b/" + std::to_string(i) + ".jpg");
  }
  const ImageFolder train = list(Split::train);
  const ImageFolder test = list(Split::test);
  EXPECT_EQ(train.count() + test.count(), 1000);
  EXPECT_NEAR(static_cast<double>(test.count()), 100, 35);
  std::set<fs::path> training;
  for (std::int64_t i = 0; i < train.count(); ++i) training.insert(train.path(i));
  for (std::int64_t i = 0; i < test.count(); ++i) EXPECT_FALSE(training.contains(test.path(i)));
  add("a/one_more.jpg");
  const ImageFolder again = list(Split::test);
  std::set<fs::path> tested;
  for (std::int64_t i = 0; i < again.count(); ++i) tested.insert(again.path(i));
  for (std::int64_t i = 0; i < test.count(); ++i) EXPECT_TRUE(tested.contains(test.path(i)));
}

TEST_F(ImageFolderTest, RefusesWhatIsIncomplete) {
  add("train/dog/a.jpg");
  expect_error([&] { list(Split::train); }, {root.path().string(), "train/ without val/ or test/"});
  add("test/bird/a.jpg");
  expect_error([&] { list(Split::test); }, {"test/bird", "no such class", "train"});
  fs::create_directory(root.path() / "train/empty");
  expect_error([&] { list(Split::train); }, {"train/empty", ".jpg", "none"});
  add("train/empty/a.jpg");
  expect_error([&] { list(Split::train, 1); }, {"at most 1", "found 2"});
}

TEST_F(ImageFolderTest, AnEmptyDirectoryIsNoDataSet) {
  EXPECT_FALSE(is_jpeg_folder(root.path().string()));
  expect_error([&] { load_dataset(root.path().string(), Split::train, {}, 1); },
               {root.path().string(), "IDX", "CIFAR-10", "class/image.jpg"});
}

TEST_F(ImageFolderTest, ASetOfMnistWithAFolderBesideItStaysOne) {
  add("train-images-idx3-ubyte");
  add("folder/a.jpg");
  EXPECT_FALSE(is_jpeg_folder(root.path().string()));
}

}  // namespace
}  // namespace scalebench
