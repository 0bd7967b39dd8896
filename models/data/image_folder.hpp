// SPDX-License-Identifier: Apache-2.0
// The images of a directory as class/image.jpg, the layout of ImageNet and of torchvision's
// ImageFolder. Only names are kept in memory. With train/ and val/ (or test/) those are the splits;
// without, one image in ten is for testing, chosen by a hash of its name, so that the choice is the
// same on every machine and stays when images are added.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "models/data/dataset.hpp"

namespace scalebench {

struct ImageFolder {
  struct Image {
    std::string file;
    int label = 0;
  };

  /// The directory's last component.
  std::string name;
  /// Holds the class folders.
  std::filesystem::path root;
  /// Sorted names of the class folders of the training split; a label is a place in it.
  std::vector<std::string> classes;
  /// Ordered by class, then by name.
  std::vector<Image> images;
  /// See id_of_set(): by the names of classes and files.
  std::string id = {};

  std::int64_t count() const { return static_cast<std::int64_t>(images.size()); }
  std::filesystem::path path(std::int64_t index) const;
};

/// Whether there is a folder, or a file, of that name. Throws UsageError where the system does not
/// say: no right to look, a link to itself, a name that is too long.
bool is_folder(const std::filesystem::path& path);
bool is_file(const std::filesystem::path& path);

/// Whether `directory` has folders in it, hidden ones not counted.
bool has_folders(const std::filesystem::path& directory);

/// The files of one split whose names end in .jpg or .jpeg, in any case; others are left out.
/// Throws UsageError when there are more than `most_classes` classes, a class without such a file,
/// a class that only the test split has, one split's folder without the other's, or no image.
ImageFolder list_image_folder(const std::filesystem::path& directory, Split split,
                              int most_classes);

}  // namespace scalebench
