// SPDX-License-Identifier: Apache-2.0
#include "models/idx.hpp"

#include <gtest/gtest.h>

#include "models/expect_error.hpp"
#include "models/test_files.hpp"

namespace scalebench {
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
