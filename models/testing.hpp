// SPDX-License-Identifier: Apache-2.0
// For tests: a call must throw a given kind of error, and its text must name certain things.
#pragma once

#include <gtest/gtest.h>
#include <turbojpeg.h>
#include <zlib.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/error.hpp"
#include "kernels/testing.hpp"

namespace scalebench {

template <class Kind = UsageError, class Function>
void expect_error(Function&& function, std::initializer_list<std::string_view> parts) {
  try {
    function();
  } catch (const Kind& error) {
    const std::string text = error.what();
    for (const std::string_view part : parts) {
      EXPECT_NE(text.find(part), std::string::npos) << "'" << part << "' is not in: " << text;
    }
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
    return;
  }
  ADD_FAILURE() << "nothing was thrown";
}

// For tests: IDX files in a temporary folder.

using Bytes = std::vector<std::uint8_t>;

/// A well-formed IDX file of unsigned bytes.
inline Bytes idx_bytes(const std::vector<std::uint32_t>& dimensions, const Bytes& values) {
  Bytes bytes{0, 0, 8, static_cast<std::uint8_t>(dimensions.size())};
  for (const std::uint32_t extent : dimensions) {
    for (const unsigned shift : {24U, 16U, 8U, 0U}) {
      bytes.push_back(static_cast<std::uint8_t>(extent >> shift));
    }
  }
  bytes.insert(bytes.end(), values.begin(), values.end());
  return bytes;
}

inline void write_plain(const std::filesystem::path& file, const Bytes& bytes) {
  std::ofstream(file, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

inline void write_gz(const std::filesystem::path& file, const Bytes& bytes) {
  gzFile out = gzopen(file.c_str(), "wb");
  gzwrite(out, bytes.data(), static_cast<unsigned>(bytes.size()));
  gzclose(out);
}

// For tests: JPEG files.

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

/// The same file, whose header says that it has that size.
inline Bytes with_size_in_header(Bytes jpeg, unsigned height, unsigned width) {
  for (std::size_t at = 2; at + 9 < jpeg.size() && jpeg[at] == 0xff;) {
    const unsigned kind = jpeg[at + 1];
    if (kind == 0xc0) {  // a baseline frame: length, precision, height, width
      for (const auto& [place, value] : {std::pair(at + 5, height), std::pair(at + 7, width)}) {
        jpeg[place] = static_cast<std::uint8_t>(value >> 8U);
        jpeg[place + 1] = static_cast<std::uint8_t>(value);
      }
      return jpeg;
    }
    at += 2U + (static_cast<std::size_t>(jpeg[at + 2]) << 8U) + jpeg[at + 3];
  }
  return {};
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
