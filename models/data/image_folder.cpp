// SPDX-License-Identifier: Apache-2.0
#include "models/data/image_folder.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <vector>

#include "kernels/error.hpp"
#include "models/data/sampler.hpp"

namespace scalebench {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kOneInTest = 10;

bool hidden(const fs::path& path) { return path.filename().string().starts_with('.'); }

bool named_jpeg(const fs::path& path) {
  std::string extension = path.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return extension == ".jpg" || extension == ".jpeg";
}

fs::file_type type_of(const fs::path& path) {
  std::error_code error;
  const fs::file_type type = fs::status(path, error).type();
  if (type == fs::file_type::none) {
    fail<UsageError>("{}: cannot read: {}", path.string(), error.message());
  }
  return type;
}

/// Names in `directory` that `accept` takes, sorted by their bytes.
template <class Accept>
std::vector<std::string> names_in(const fs::path& directory, Accept accept) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    if (!hidden(entry->path()) && accept(*entry)) names.push_back(entry->path().filename());
  }
  if (error) fail<UsageError>("{}: cannot list: {}", directory.string(), error.message());
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> folders_in(const fs::path& directory) {
  return names_in(directory,
                  [](const fs::directory_entry& entry) { return is_folder(entry.path()); });
}

/// Of "class/file", from `hash` on.
std::uint64_t hash_of(std::string_view class_name, std::string_view file, std::uint64_t hash) {
  return fnv1a(file, fnv1a("/", fnv1a(class_name, hash)));
}

/// By a hash of the name, mixed once more: its low bits alone are weak.
bool chosen_for_test(std::string_view class_name, std::string_view file) {
  return SplitMix(hash_of(class_name, file, fnv1a(""))).next() % kOneInTest == 0;
}

/// Where each split lies; both the same folder when a hash divides it.
struct Layout {
  fs::path train;
  fs::path test;
  bool divided() const { return train == test; }
};

Layout layout_of(const fs::path& directory) {
  const auto folder = [&](const char* name) { return is_folder(directory / name); };
  const char* const test = folder("val") ? "val" : folder("test") ? "test" : nullptr;
  if (folder("train") && test != nullptr) return {directory / "train", directory / test};
  if (folder("train") || test != nullptr) {
    fail<UsageError>(
        "{}: expected train/ and val/ (or test/) with a folder for each class, or those folders "
        "alone; found {}/ without {}",
        directory.string(), test == nullptr ? "train" : test,
        test == nullptr ? "val/ or test/" : "train/");
  }
  return {directory, directory};
}

}  // namespace

fs::path ImageFolder::path(std::int64_t index) const {
  const Image& image = images[static_cast<std::size_t>(index)];
  return root / classes[static_cast<std::size_t>(image.label)] / image.file;
}

bool is_folder(const fs::path& path) { return type_of(path) == fs::file_type::directory; }

bool is_file(const fs::path& path) { return type_of(path) == fs::file_type::regular; }

bool has_folders(const fs::path& directory) { return !folders_in(directory).empty(); }

ImageFolder list_image_folder(const fs::path& directory, Split split, int most_classes) {
  const Layout layout = layout_of(directory);
  const fs::path last = directory.has_filename() ? directory : directory.parent_path();
  ImageFolder folder{last.filename().string(),
                     split == Split::train ? layout.train : layout.test,
                     folders_in(layout.train),
                     {}};
  std::uint64_t hash = fnv1a("");
  if (folder.classes.empty()) {
    fail<UsageError>("{}: expected a folder for each class, found none", layout.train.string());
  }
  if (folder.classes.size() > static_cast<std::size_t>(most_classes)) {
    fail<UsageError>(
        "{}: expected at most {} class folders, which is what the model tells apart, "
        "found {}",
        layout.train.string(), most_classes, folder.classes.size());
  }
  for (const std::string& name : folders_in(folder.root)) {
    const auto place = std::lower_bound(folder.classes.begin(), folder.classes.end(), name);
    if (place == folder.classes.end() || *place != name) {
      fail<UsageError>("{}: no such class in {}", (folder.root / name).string(),
                       layout.train.string());
    }
    const auto files = names_in(folder.root / name, [](const fs::directory_entry& entry) {
      return named_jpeg(entry.path()) && !is_folder(entry.path());
    });
    if (files.empty()) {
      fail<UsageError>("{}: expected files that end in .jpg or .jpeg, found none",
                       (folder.root / name).string());
    }
    for (const std::string& file : files) {
      if (layout.divided() && chosen_for_test(name, file) != (split == Split::test)) continue;
      folder.images.push_back({file, static_cast<int>(place - folder.classes.begin())});
      hash = fnv1a("\n", hash_of(name, file, hash));
    }
  }
  if (folder.images.empty()) {
    fail<UsageError>(
        "{}: no image is left for {}; expected more images (one in {} is for testing) "
        "or the folders train/ and val/",
        directory.string(), split == Split::train ? "training" : "testing", kOneInTest);
  }
  folder.id = id_of_set(folder.name, folder.count(), hash);
  return folder;
}

}  // namespace scalebench
