// SPDX-License-Identifier: Apache-2.0
#include "bench/machine/digest.hpp"

#include <openssl/evp.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <span>

#include "kernels/error.hpp"

namespace scalebench {
namespace {

class Digest {
 public:
  Digest() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
    check(context_ != nullptr && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1);
  }

  void update(std::string_view bytes) {
    check(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1);
  }

  std::string hex() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned length = 0;
    check(EVP_DigestFinal_ex(context_.get(), digest.data(), &length) == 1);
    return hexadecimal(std::span(digest).first(length));
  }

 private:
  static void check(bool done) {
    if (!done) fail("SHA-256 is not available in this OpenSSL");
  }

  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

}  // namespace

std::string sha256_of(std::string_view text) {
  Digest digest;
  digest.update(text);
  return digest.hex();
}

std::string sha256_of_file(const std::filesystem::path& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rbe"),
                                                             std::fclose);
  if (file == nullptr) fail("cannot open '{}': {}", path.string(), std::strerror(errno));
  Digest digest;
  std::string block(std::size_t{1} << 20U, '\0');
  while (const std::size_t n = std::fread(block.data(), 1, block.size(), file.get())) {
    digest.update(std::string_view(block).substr(0, n));
  }
  if (std::ferror(file.get()) != 0) {
    fail("cannot read '{}': {}", path.string(), std::strerror(errno));
  }
  return digest.hex();
}

}  // namespace scalebench
