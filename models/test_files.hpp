// SPDX-License-Identifier: Apache-2.0
// For tests: IDX files in a temporary folder.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <vector>

#include "kernels/temporary_folder.hpp"

namespace scalebench {

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

}  // namespace scalebench
