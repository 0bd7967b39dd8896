// SPDX-License-Identifier: Apache-2.0
#include "models/checkpoint_file.hpp"

#include <openssl/evp.h>

#include <cstdint>

#include "kernels/error.hpp"

namespace scalebench {
namespace {

constexpr std::string_view kMagic = "SCBCKPT2";
constexpr std::size_t kLengthBytes = 8;
constexpr std::size_t kDigestBytes = 32;

std::string sha256(std::string_view bytes) {
  std::string digest(kDigestBytes, '\0');
  auto* out = reinterpret_cast<unsigned char*>(digest.data());
  if (EVP_Digest(bytes.data(), bytes.size(), out, nullptr, EVP_sha256(), nullptr) != 1) {
    fail("SHA-256 is not available in this OpenSSL");
  }
  return digest;
}

std::string length_bytes(std::uint64_t length) {
  std::string bytes;
  for (unsigned shift = 0; shift < 64; shift += 8) {
    bytes += static_cast<char>(static_cast<unsigned char>(length >> shift));
  }
  return bytes;
}

std::uint64_t length_in(std::string_view bytes) {
  std::uint64_t length = 0;
  for (std::size_t i = kLengthBytes; i-- > 0;) {
    length = length << 8U | static_cast<unsigned char>(bytes[i]);
  }
  return length;
}

}  // namespace

std::string checkpoint_file(std::string_view header, std::string_view tensors) {
  std::string bytes(kMagic);
  bytes.append(length_bytes(header.size())).append(header).append(tensors);
  return bytes + sha256(bytes);
}

CheckpointParts checkpoint_parts(std::string_view bytes) {
  const std::size_t fixed = kMagic.size() + kLengthBytes + kDigestBytes;
  if (!bytes.starts_with(kMagic)) {
    fail<UsageError>("it does not begin with {}: no checkpoint of this version", kMagic);
  }
  if (bytes.size() < fixed) fail<UsageError>("it is truncated to {} bytes", bytes.size());
  const std::string_view content = bytes.substr(0, bytes.size() - kDigestBytes);
  if (sha256(content) != bytes.substr(content.size())) {
    fail<UsageError>("its checksum does not match its {} bytes: truncated or changed",
                     bytes.size());
  }
  const std::string_view rest = content.substr(kMagic.size() + kLengthBytes);
  const std::uint64_t length = length_in(content.substr(kMagic.size()));
  if (length > rest.size()) fail<UsageError>("its header is longer than the file");
  return {rest.substr(0, length), rest.substr(length)};
}

}  // namespace scalebench
