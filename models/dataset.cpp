// SPDX-License-Identifier: Apache-2.0
// Finds the files of a set and checks that images and labels fit each other and the model.
#include "models/dataset.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string_view>

#include "kernels/error.hpp"
#include "models/cifar10.hpp"
#include "models/idx.hpp"
#include "models/image_folder.hpp"

namespace scalebench {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSynthetic = "synthetic";
constexpr std::int64_t kSyntheticCount = 60'000;

/// `train` + `images` + `idx3`: the first of the four usual spellings that exists.
fs::path find_file(const fs::path& directory, std::string_view prefix, std::string_view what,
                   std::string_view kind) {
  for (const char* separator : {"-", "."}) {
    for (const char* suffix : {"", ".gz"}) {
      const fs::path file =
          directory / fmt::format("{}-{}{}{}-ubyte{}", prefix, what, separator, kind, suffix);
      if (fs::is_regular_file(file)) return file;
    }
  }
  fail<UsageError>("{}: expected {}-{}-{}-ubyte or the same with .gz, found neither",
                   directory.string(), prefix, what, kind);
}

/// Whether any of MNIST's files is there, so that a set with one missing is not taken for another.
bool has_idx(const fs::path& directory) {
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename();
    const bool split = name.starts_with("train-") || name.starts_with("t10k-");
    if (split && name.find("-ubyte") != std::string::npos) return true;
  }
  if (error) fail<UsageError>("{}: cannot list: {}", directory.string(), error.message());
  return false;
}

Dataset read_directory(const fs::path& directory, Split split, const ImageShape& shape) {
  const std::string_view prefix = split == Split::train ? "train" : "t10k";
  const fs::path image_file = find_file(directory, prefix, "images", "idx3");
  const fs::path label_file = find_file(directory, prefix, "labels", "idx1");
  Idx images = read_idx(image_file, 3);
  Idx labels = read_idx(label_file, 1);
  const std::int64_t count = images.dimensions[0];
  const std::int64_t height = images.dimensions[1];
  const std::int64_t width = images.dimensions[2];
  if (labels.dimensions[0] != count || count == 0) {
    fail<UsageError>("{}: expected one label for each of the {} images in {}, found {}",
                     label_file.string(), count, image_file.filename().string(),
                     labels.dimensions[0]);
  }
  if (height < 1 || width < 1 || height > shape.height || width > shape.width) {
    fail<UsageError>(
        "{}: expected images of at most {}x{} pixels, which is what the model takes, "
        "found {}x{}",
        image_file.string(), shape.height, shape.width, height, width);
  }
  const auto bad = std::find_if(labels.values.begin(), labels.values.end(),
                                [&](std::uint8_t label) { return label >= shape.classes; });
  if (bad != labels.values.end()) {
    fail<UsageError>("{}: expected labels below {}, found {} at index {}", label_file.string(),
                     shape.classes, *bad, bad - labels.values.begin());
  }
  // A trailing slash would leave the last component empty.
  const fs::path last = directory.has_filename() ? directory : directory.parent_path();
  return {last.filename().string(),
          {1, static_cast<int>(height), static_cast<int>(width), shape.classes},
          std::move(images.values),
          std::move(labels.values)};
}

/// N of `synthetic:N`; the default without one.
std::int64_t synthetic_count(std::string_view source) {
  if (source == kSynthetic) return kSyntheticCount;
  const std::string_view digits = source.substr(kSynthetic.size() + 1);
  std::int64_t count = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
  if (error != std::errc() || end != digits.data() + digits.size() || count < 6) {
    fail<UsageError>("dataset '{}': expected synthetic:N with a whole number N of at least 6",
                     source);
  }
  return count;
}

}  // namespace

bool is_jpeg_folder(const std::string& source) {
  return fs::is_directory(source) && !find_cifar10(source) && !has_idx(source) &&
         has_folders(source);
}

Dataset load_dataset(const std::string& source, Split split, const ImageShape& shape,
                     std::uint64_t seed) {
  if (source == kSynthetic || source.starts_with("synthetic:")) {
    const std::int64_t count = synthetic_count(source);
    Dataset set = synthetic_dataset(split == Split::train ? count : count / 6, split, shape, seed);
    set.name = source;
    return set;
  }
  if (source == "fashion-mnist") {
    if (!fs::is_directory(kFashionMnistDirectory)) {
      fail<UsageError>(
          "dataset fashion-mnist: expected its files in {}, found no such directory; "
          "install Debian's dataset-fashion-mnist, or name a directory or synthetic",
          kFashionMnistDirectory);
    }
    return read_directory(kFashionMnistDirectory, split, shape);
  }
  if (!fs::is_directory(source)) {
    fail<UsageError>(
        "dataset '{}': expected fashion-mnist, synthetic, synthetic:N or a directory with IDX "
        "files, CIFAR-10's binary files or JPEG files as class/image.jpg, found no directory of "
        "that name",
        source);
  }
  if (const auto cifar10 = find_cifar10(source)) return read_cifar10(*cifar10, split);
  if (!has_idx(source)) {
    fail<UsageError>(
        "{}: expected IDX files (train-images-idx3-ubyte ...), CIFAR-10's (data_batch_1.bin ...) "
        "or "
        "folders of JPEG files (class/image.jpg), found none of them",
        source);
  }
  return read_directory(source, split, shape);
}

}  // namespace scalebench
