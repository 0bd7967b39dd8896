// SPDX-License-Identifier: Apache-2.0
// For tests: JPEG files.
#pragma once

#include <turbojpeg.h>

#include <array>
#include <filesystem>

#include "models/test_files.hpp"

namespace scalebench {

/// A smooth picture around one colour, (height, width) pixels of `format` with as many channels as
/// `colour` has, encoded.
template <std::size_t kChannels>
Bytes jpeg_of(int height, int width, const std::array<std::uint8_t, kChannels>& colour, int format,
              int subsampling = TJSAMP_444) {
  Bytes pixels;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (const std::uint8_t level : colour) {
        pixels.push_back(static_cast<std::uint8_t>(level + (x * 8) / width + (y * 8) / height));
      }
    }
  }
  const tjhandle handle = tjInitCompress();
  unsigned char* data = nullptr;
  unsigned long size = 0;
  const int code = tjCompress2(handle, pixels.data(), width, 0, height, format, &data, &size,
                               subsampling, 95, 0);
  Bytes file;
  if (code == 0) file.assign(data, data + size);
  tjFree(data);
  tjDestroy(handle);
  return file;
}

inline Bytes rgb_jpeg(int height, int width, std::uint8_t red, std::uint8_t green,
                      std::uint8_t blue) {
  return jpeg_of<3>(height, width, {red, green, blue}, TJPF_RGB);
}

/// Two classes, `red` and `blue`, below train/ and val/: 6 and 2 images of each.
inline void write_jpeg_folder(const std::filesystem::path& root) {
  for (const char* split : {"train", "val"}) {
    for (int i = 0; i < (split == std::string("train") ? 6 : 2); ++i) {
      const int size = 40 + 9 * i;
      const auto shade = static_cast<std::uint8_t>(10 * i);
      const std::string name = std::to_string(i) + ".jpg";
      std::filesystem::create_directories(root / split / "red");
      std::filesystem::create_directories(root / split / "blue");
      write_plain(root / split / "red" / name, rgb_jpeg(size, size + 5, 200, shade, 30));
      write_plain(root / split / "blue" / name, rgb_jpeg(size + 5, size, 30, shade, 200));
    }
  }
}

}  // namespace scalebench
