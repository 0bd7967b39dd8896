// SPDX-License-Identifier: Apache-2.0
// Labelled images in host memory: Fashion-MNIST, any directory with MNIST's file names, CIFAR-10,
// or a synthetic set. Free of LibTorch; ImageStore moves a Dataset to the training device.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "models/network/models.hpp"

namespace scalebench {

enum class Split { train, test };

struct Dataset {
  /// `fashion-mnist`, `cifar-10`, `synthetic`, `synthetic:N`, or the directory's last component.
  std::string name;
  ImageShape shape;
  /// (count, channels, height, width) and (count), both unsigned bytes, row-major.
  std::vector<std::uint8_t> images;
  std::vector<std::uint8_t> labels;
  /// See id_of_set(); of a synthetic set, Fashion-MNIST, MNIST and CIFAR-10 the name.
  std::string id = {};

  std::int64_t count() const { return static_cast<std::int64_t>(labels.size()); }
};

/// `faces:600:9f3a12bc`: the name, which other sets may have as well, the number of images and a
/// hash of what tells them apart.
std::string id_of_set(std::string_view name, std::int64_t images, std::uint64_t hash);

/// Where Debian's dataset-fashion-mnist puts its files.
inline constexpr const char* kFashionMnistDirectory = "/usr/share/datasets/fashion-mnist";

/// One split of the set that `source` names:
///   fashion-mnist     kFashionMnistDirectory
///   a directory       {train,t10k}-images-idx3-ubyte and -labels-idx1-ubyte, also with `.idx` for
///                     `-idx`, each plain or .gz; or CIFAR-10's binary files, there or in its
///                     cifar-10-batches-bin
///   synthetic[:N]     see synthetic_dataset; N training images (default 60 000), N/6 test images
/// `shape` is the model's: it is the shape of a synthetic set, and the largest image and number of
/// classes that a file may have. `seed` matters only for synthetic sets.
/// Throws UsageError with the file's name, what was expected and what was found.
Dataset load_dataset(const std::string& source, Split split, const ImageShape& shape,
                     std::uint64_t seed);

/// Whether `source` is a directory with folders in it and none of the files above: see ImageFolder.
bool is_jpeg_folder(const std::string& source);

/// `count` images of exactly `shape`, at most 256 classes of them: each class is a fixed pattern of
/// bright and dark 4x4 cells, each pixel has uniform noise on top. Both splits share the patterns.
/// The same seed gives the same bytes on every platform; linear models learn it, so that training
/// on it proves something.
Dataset synthetic_dataset(std::int64_t count, Split split, const ImageShape& shape,
                          std::uint64_t seed);

// IDX files, the format of MNIST and its relatives: two zero bytes, the type of an element, the
// number of dimensions, each dimension as a big-endian 32-bit number, then the elements.
// Plain or gzip-compressed; the content decides, not the name. Only unsigned bytes are accepted.
// Source: http://yann.lecun.com/exdb/mnist/, section "the IDX file format".

struct Idx {
  /// Outermost first, for images: count, height, width.
  std::vector<std::int64_t> dimensions;
  std::vector<std::uint8_t> values;
};

/// Reads a file that must have `dimensions` dimensions. Throws UsageError with the file's name,
/// what was expected and what was found when the file cannot be read, is damaged, too short, too
/// long, or holds another type or number of dimensions.
Idx read_idx(const std::filesystem::path& file, std::size_t dimensions);

}  // namespace scalebench
