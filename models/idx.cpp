// SPDX-License-Identifier: Apache-2.0
// Reads the whole file first (zlib also reads plain files), then compares it with its header.
#include "models/idx.hpp"

#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <limits>
#include <memory>
#include <span>
#include <string>

#include "kernels/error.hpp"

namespace scalebench {
namespace {

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

}  // namespace

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

}  // namespace scalebench
