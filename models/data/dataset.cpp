// SPDX-License-Identifier: Apache-2.0
// Finds the files of a set and checks that images and labels fit each other and the model.
#include "models/data/dataset.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "kernels/error.hpp"
#include "kernels/read_number.hpp"
#include "models/data/image_folder.hpp"
#include "models/data/sampler.hpp"

namespace scalebench {
namespace {

namespace fs = std::filesystem;

// CIFAR-10's binary version: data_batch_1.bin to data_batch_5.bin for training, test_batch.bin. A
// record is one label byte and 3072 bytes of a 32x32 image: red, green, blue plane, row by row.
// Source: https://www.cs.toronto.edu/~kriz/cifar.html, section "Binary version".

constexpr std::array<const char*, 6> kFiles{"data_batch_1.bin", "data_batch_2.bin",
                                            "data_batch_3.bin", "data_batch_4.bin",
                                            "data_batch_5.bin", "test_batch.bin"};
constexpr ImageShape kShape{3, 32, 32, 10};
constexpr std::size_t kPixels = 3UL * 32 * 32;
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

/// The folder that holds the files: `directory` or its cifar-10-batches-bin; nothing when neither
/// has any of them.
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

/// Of as many images as the published set of its name, a set is taken for that one.
void identify(Dataset& set, Split split, std::int64_t training_images) {
  const bool known = set.name == "fashion-mnist" || set.name == "mnist" || set.name == "cifar-10";
  if (known && set.count() == (split == Split::train ? training_images : 10'000)) {
    set.id = set.name;
    return;
  }
  const std::string_view labels(reinterpret_cast<const char*>(set.labels.data()),
                                set.labels.size());
  set.id = id_of_set(set.name, set.count(), fnv1a(labels));
}

/// One split from a folder that find_cifar10 returned. Files may hold any number of records.
Dataset read_cifar10(const fs::path& directory, Split split) {
  const std::span all(kFiles);
  Dataset set{"cifar-10", kShape, {}, {}};
  for (const char* name : split == Split::train ? all.first(5) : all.last(1)) {
    if (!is_file(directory / name)) {
      fail<UsageError>(
          "{}: expected data_batch_1.bin to data_batch_5.bin and test_batch.bin, {} is missing",
          directory.string(), name);
    }
    append(directory / name, set);
  }
  identify(set, split, 50'000);
  return set;
}

constexpr std::string_view kSynthetic = "synthetic";
constexpr std::int64_t kSyntheticCount = 60'000;
/// More than any memory holds, and still a number of bytes.
constexpr std::int64_t kMostSynthetic = 1'000'000'000'000;

/// `train` + `images` + `idx3`: the first of the four usual spellings that exists.
fs::path find_file(const fs::path& directory, std::string_view prefix, std::string_view what,
                   std::string_view kind) {
  for (const char* separator : {"-", "."}) {
    for (const char* suffix : {"", ".gz"}) {
      fs::path file =
          directory / fmt::format("{}-{}{}{}-ubyte{}", prefix, what, separator, kind, suffix);
      if (is_file(file)) return file;
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
  Dataset set{last.filename().string(),
              {1, static_cast<int>(height), static_cast<int>(width), shape.classes},
              std::move(images.values),
              std::move(labels.values)};
  identify(set, split, 60'000);
  return set;
}

/// N of `synthetic:N`; the default without one.
std::int64_t synthetic_count(std::string_view source) {
  if (source == kSynthetic) return kSyntheticCount;
  const auto count = read_number<std::int64_t>(source.substr(kSynthetic.size() + 1));
  if (!count || *count < 6 || *count > kMostSynthetic) {
    fail<UsageError>(
        "dataset '{}': expected synthetic:N with a whole number N of at least 6, at most {}",
        source, kMostSynthetic);
  }
  return *count;
}

// Reads the whole file first (zlib also reads plain files), then compares it with its header.

constexpr std::size_t kMagicBytes = 4;
constexpr std::uint8_t kUnsignedByte = 0x08;

struct GzClose {
  void operator()(gzFile_s* file) const { gzclose(file); }
};

std::vector<std::uint8_t> read_all(const std::filesystem::path& path) {
  const std::unique_ptr<gzFile_s, GzClose> file(gzopen(path.c_str(), "rb"));
  if (!file) fail<UsageError>("{}: cannot open: {}", path.string(), std::strerror(errno));
  constexpr unsigned kChunk = 1U << 20U;
  gzbuffer(file.get(), kChunk);
  std::vector<std::uint8_t> bytes;
  for (;;) {
    const std::size_t had = bytes.size();
    bytes.resize(had + kChunk);
    const int got = gzread(file.get(), bytes.data() + had, kChunk);
    bytes.resize(had + static_cast<std::size_t>(got > 0 ? got : 0));
    int code = Z_OK;
    const char* text = gzerror(file.get(), &code);
    if (got < 0 || (code != Z_OK && code != Z_STREAM_END)) {
      fail<UsageError>(
          "{}: expected a plain or gzip-compressed IDX file, found damage after {} bytes: {}",
          path.string(), bytes.size(),
          code == Z_ERRNO ? std::string(std::strerror(errno)) : std::string(text));
    }
    if (got == 0) return bytes;
  }
}

std::int64_t big_endian(std::span<const std::uint8_t> four) {
  return (std::int64_t{four[0]} << 24) | (std::int64_t{four[1]} << 16) |
         (std::int64_t{four[2]} << 8) | std::int64_t{four[3]};
}

// Class patterns plus noise from SplitMix64 (Steele, Lea, Flood 2014), eight noise bytes a draw:
// the whole set costs less than decompressing a real one.

constexpr int kCell = 4;
constexpr int kClasses = 256;  // labels are bytes

/// Per class and pixel 48 (dark cell) or 80 (bright cell); noise adds 0 to 127, so that one pixel
/// says little and the whole image much.
std::vector<std::uint8_t> class_patterns(const ImageShape& shape, std::uint64_t seed) {
  std::vector<std::uint8_t> patterns;
  patterns.reserve(static_cast<std::size_t>(shape.classes * shape.pixels()));
  for (int label = 0; label < shape.classes; ++label) {
    for (int channel = 0; channel < shape.channels; ++channel) {
      for (int y = 0; y < shape.height; ++y) {
        for (int x = 0; x < shape.width; ++x) {
          const int row = (label * shape.channels + channel) * shape.height + y / kCell;
          const int column = row * shape.width + x / kCell;
          const auto cell = static_cast<std::uint64_t>(column);
          patterns.push_back((SplitMix(seed ^ (cell << 20U)).next() >> 63U) != 0U ? 80 : 48);
        }
      }
    }
  }
  return patterns;
}

}  // namespace

bool is_jpeg_folder(const std::string& source) {
  return is_folder(source) && !find_cifar10(source) && !has_idx(source) && has_folders(source);
}

Dataset load_dataset(const std::string& source, Split split, const ImageShape& shape,
                     std::uint64_t seed) {
  if (source == kSynthetic || source.starts_with("synthetic:")) {
    const std::int64_t count = synthetic_count(source);
    Dataset set = synthetic_dataset(split == Split::train ? count : count / 6, split, shape, seed);
    set.name = set.id = source;
    return set;
  }
  if (source == "fashion-mnist") {
    if (!is_folder(kFashionMnistDirectory)) {
      fail<UsageError>(
          "dataset fashion-mnist: expected its files in {}, found no such directory; "
          "install Debian's dataset-fashion-mnist, or name a directory or synthetic",
          kFashionMnistDirectory);
    }
    return read_directory(kFashionMnistDirectory, split, shape);
  }
  if (!is_folder(source)) {
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

std::string id_of_set(std::string_view name, std::int64_t images, std::uint64_t hash) {
  return fmt::format("{}:{}:{:08x}", name, images, SplitMix(hash).next() >> 32U);
}

Idx read_idx(const std::filesystem::path& file, std::size_t dimensions) {
  const std::vector<std::uint8_t> bytes = read_all(file);
  const std::string name = file.string();
  const std::size_t header = kMagicBytes + 4 * dimensions;
  if (bytes.size() < kMagicBytes) {
    fail<UsageError>("{}: expected an IDX header of {} bytes, found {} bytes", name, header,
                     bytes.size());
  }
  if (bytes[0] != 0 || bytes[1] != 0) {
    fail<UsageError>("{}: expected an IDX file (first bytes 00 00), found {:02x} {:02x}", name,
                     bytes[0], bytes[1]);
  }
  if (bytes[2] != kUnsignedByte) {
    fail<UsageError>("{}: expected elements of type 08 (unsigned byte), found {:02x}", name,
                     bytes[2]);
  }
  if (bytes[3] != dimensions) {
    fail<UsageError>("{}: expected {} dimensions, found {}", name, dimensions, bytes[3]);
  }
  if (bytes.size() < header) {
    fail<UsageError>("{}: expected an IDX header of {} bytes, found {} bytes", name, header,
                     bytes.size());
  }
  Idx idx;
  std::int64_t expected = 1;
  for (std::size_t i = 0; i < dimensions; ++i) {
    const std::int64_t extent = big_endian(std::span(bytes).subspan(kMagicBytes + 4 * i, 4));
    if (extent != 0 && expected > std::numeric_limits<std::int64_t>::max() / extent) {
      fail<UsageError>("{}: expected sizes that fit in memory, found dimension {} of {}", name, i,
                       extent);
    }
    expected *= extent;
    idx.dimensions.push_back(extent);
  }
  if (static_cast<std::int64_t>(bytes.size() - header) != expected) {
    fail<UsageError>("{}: expected {} bytes after the header, found {} ({})", name, expected,
                     bytes.size() - header,
                     static_cast<std::int64_t>(bytes.size() - header) < expected
                         ? "truncated"
                         : "trailing bytes");
  }
  idx.values.assign(bytes.begin() + static_cast<std::ptrdiff_t>(header), bytes.end());
  return idx;
}

Dataset synthetic_dataset(std::int64_t count, Split split, const ImageShape& wanted,
                          std::uint64_t seed) {
  ImageShape shape = wanted;
  shape.classes = std::min(shape.classes, kClasses);
  const auto pixels = static_cast<std::size_t>(shape.pixels());
  const std::vector<std::uint8_t> patterns = class_patterns(shape, seed);
  Dataset set{"synthetic", shape, {}, {}};
  set.images.resize(static_cast<std::size_t>(count) * pixels);
  set.labels.resize(static_cast<std::size_t>(count));
  SplitMix random(seed + (split == Split::train ? 1U : 2U));
  std::uint8_t* image = set.images.data();
  for (std::uint8_t& label : set.labels) {
    label = static_cast<std::uint8_t>(random.next() % static_cast<std::uint64_t>(shape.classes));
    const std::uint8_t* pattern = patterns.data() + label * pixels;
    for (std::size_t first = 0; first < pixels; first += 8) {
      const std::uint64_t noise = random.next();
      for (std::size_t i = first; i < first + 8 && i < pixels; ++i) {
        image[i] = static_cast<std::uint8_t>(pattern[i] + ((noise >> (8 * (i - first))) & 127U));
      }
    }
    image += pixels;
  }
  return set;
}

}  // namespace scalebench
