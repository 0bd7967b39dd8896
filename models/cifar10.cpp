// SPDX-License-Identifier: Apache-2.0
#include "models/cifar10.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <span>

#include "kernels/error.hpp"

namespace scalebench {
namespace {

namespace fs = std::filesystem;

constexpr std::array<const char*, 6> kFiles{"data_batch_1.bin", "data_batch_2.bin",
                                            "data_batch_3.bin", "data_batch_4.bin",
                                            "data_batch_5.bin", "test_batch.bin"};
constexpr ImageShape kShape{3, 32, 32, 10};
constexpr std::size_t kPixels = 3 * 32 * 32;
constexpr std::size_t kRecord = 1 + kPixels;

void append(const fs::path& file, Dataset& set) {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(file, error);
  if (error) fail<UsageError>("{}: cannot read: {}", file.string(), error.message());
  if (size == 0 || size % kRecord != 0) {
    fail<UsageError>("{}: expected records of {} bytes, found {} bytes, which is {} records and {}",
                     file.string(), kRecord, size, size / kRecord, size % kRecord);
  }
  std::vector<std::uint8_t> bytes(size);
  std::ifstream in(file, std::ios::binary);
  if (!in.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(size))) {
    fail<UsageError>("{}: cannot read: {}", file.string(), std::strerror(errno));
  }
  for (std::size_t first = 0; first < bytes.size(); first += kRecord) {
    if (bytes[first] >= kShape.classes) {
      fail<UsageError>("{}: expected labels below {}, found {} in record {}", file.string(),
                       kShape.classes, bytes[first], first / kRecord);
    }
    const std::span record = std::span(bytes).subspan(first, kRecord);
    set.labels.push_back(record[0]);
    set.images.insert(set.images.end(), record.begin() + 1, record.end());
  }
}

}  // namespace

std::optional<fs::path> find_cifar10(const fs::path& directory) {
  for (const fs::path& folder : {directory, directory / "cifar-10-batches-bin"}) {
    const bool found = std::any_of(kFiles.begin(), kFiles.end(), [&](const char* name) {
      std::error_code unreadable;
      return fs::is_regular_file(folder / name, unreadable);
    });
    if (found) return folder;
  }
  return std::nullopt;
}

Dataset read_cifar10(const fs::path& directory, Split split) {
  const std::span all(kFiles);
  Dataset set{"cifar-10", kShape, {}, {}};
  for (const char* name : split == Split::train ? all.first(5) : all.last(1)) {
    if (!fs::is_regular_file(directory / name)) {
      fail<UsageError>(
          "{}: expected data_batch_1.bin to data_batch_5.bin and test_batch.bin, {} is missing",
          directory.string(), name);
    }
    append(directory / name, set);
  }
  return set;
}

}  // namespace scalebench
