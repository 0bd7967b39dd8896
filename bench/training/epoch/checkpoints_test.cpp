// SPDX-License-Identifier: Apache-2.0
// The newest whole checkpoint is found whatever lies beside it.
#include "bench/training/epoch/checkpoints.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "bench/study/plan/named.hpp"
#include "kernels/testing.hpp"
#include "models/checkpoint_file.hpp"
#include "models/data/dataset.hpp"
#include "models/testing.hpp"

namespace scalebench {
namespace {

std::string after(int epochs) {
  Checkpoint checkpoint;
  checkpoint.progress.epochs = epochs;
  return bytes_of(checkpoint);
}

int epochs_of(const FoundCheckpoint& found) { return checkpoint_from(found.bytes).progress.epochs; }

class CheckpointFolderTest : public testing::Test {
 protected:
  void write(int epochs, int keep = 2) const { folder.write(epochs, after(epochs), keep); }
  void overwrite(const std::string& name, const std::string& bytes) const {
    std::ofstream(scratch.path() / name, std::ios::binary) << bytes;
  }

  TemporaryFolder scratch;
  CheckpointFolder folder{scratch.path()};
};

TEST_F(CheckpointFolderTest, KeepsTheNewest) {
  for (int epochs = 1; epochs <= 12; ++epochs) write(epochs);
  EXPECT_EQ(folder.epochs(), (std::vector<int>{11, 12}));
  EXPECT_EQ(folder.newest().path.filename(), "epoch-000012.ckpt");
  EXPECT_TRUE(folder.newest().refused.empty());
  write(13, 1);
  EXPECT_EQ(folder.epochs(), std::vector<int>{13});
}

TEST_F(CheckpointFolderTest, PassesOverADamagedOneAndSaysWhy) {
  write(1);
  write(2);
  overwrite("epoch-000002.ckpt", after(2).substr(0, 60));
  const FoundCheckpoint found = folder.newest();
  EXPECT_EQ(epochs_of(found), 1);
  ASSERT_EQ(found.refused.size(), 1U);
  EXPECT_NE(found.refused[0].find("epoch-000002.ckpt"), std::string::npos) << found.refused[0];
  EXPECT_NE(found.refused[0].find("truncated"), std::string::npos) << found.refused[0];
}

TEST_F(CheckpointFolderTest, ADamagedLaterOneIsNotCountedAmongTheKept) {
  write(1);
  write(2);
  overwrite("epoch-000009.ckpt", "");
  write(3);
  EXPECT_EQ(folder.epochs(), (std::vector<int>{2, 3, 9}));
  EXPECT_EQ(epochs_of(folder.newest()), 3);
}

TEST_F(CheckpointFolderTest, IgnoresWhatAnInterruptedWriteLeft) {
  write(1);
  overwrite(".epoch-000002.ckpt.tmp-00000001", after(2).substr(0, 50));
  overwrite("epoch-x.ckpt", "");
  EXPECT_EQ(folder.epochs(), std::vector<int>{1});
  EXPECT_EQ(epochs_of(folder.newest()), 1);
}

TEST_F(CheckpointFolderTest, RefusesAFolderWithoutAWholeOne) {
  expect_error([&] { folder.newest(); }, {scratch.path().string(), "no checkpoint"});
  expect_error([&] { CheckpointFolder(scratch.path() / "none").newest(); }, {"no checkpoint"});
  overwrite("epoch-000001.ckpt", "short");
  expect_error([&] { folder.newest(); }, {"epoch-000001.ckpt", "no checkpoint is whole"});
}

TEST_F(CheckpointFolderTest, RefusesAPlaceThatCannotBeWritten) {
  overwrite("file", "");
  expect_error([&] { CheckpointFolder(scratch.path() / "file" / "folder").prepare(); }, {"file"});
  CheckpointFolder(scratch.path() / "new" / "folder").prepare();
  EXPECT_TRUE(std::filesystem::is_empty(scratch.path() / "new" / "folder"));
  expect_error<Error>([&] { CheckpointFolder(scratch.path() / "no").write(1, after(1), 2); },
                      {"epoch-000001.ckpt"});
}

TEST(PlannedLaunches, KnowDataSetsAsTrainingsDo) {
  EXPECT_STREQ(kFashionMnistFolder, kFashionMnistDirectory);
  const Dataset set = load_dataset("synthetic", Split::train, {1, 1, 1, 2}, 1);
  EXPECT_EQ(images_of("synthetic"), set.count());
}

}  // namespace
}  // namespace scalebench
