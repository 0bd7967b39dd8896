// SPDX-License-Identifier: Apache-2.0
#include "bench/join/handshake.hpp"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>
#include <span>

#include "bench/join/sockets.hpp"
#include "bench/record/hexadecimal.hpp"
#include "bench/record/sha256.hpp"

namespace scalebench {
namespace {

constexpr int kProtocol = 1;
constexpr std::size_t kNonceBytes = 16;

std::string proof(const char* who, const std::string& key, const std::string& first,
                  const std::string& other) {
  const std::string text = fmt::format("{} {} {}", who, first, other);
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned length = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
       reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data(), &length);
  return hexadecimal(std::span(digest).first(length));
}

bool equal(const std::string& a, const std::string& b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace

std::string job_key(const std::string& job, const std::string& secret) {
  return sha256_of(fmt::format("scalebench join {}\n{}\n{}", kProtocol, job, secret));
}

Message greeting(const std::string& nonce) {
  return {{"scalebench_join", kProtocol}, {"nonce", nonce}};
}

std::optional<std::string> greeted(const Message& message) {
  const std::string nonce = text_in(message, "nonce");
  if (number_in(message, "scalebench_join", 0) != kProtocol || nonce.empty()) return std::nullopt;
  return nonce;
}

Message introduced(Message introduction, const std::string& key, const std::string& nonce) {
  const std::string own = random_hex(kNonceBytes);
  introduction["nonce"] = own;
  introduction["proof"] = proof("member", key, nonce, own);
  return introduction;
}

bool knows_key(const Message& introduction, const std::string& key, const std::string& nonce) {
  return equal(text_in(introduction, "proof"),
               proof("member", key, nonce, text_in(introduction, "nonce")));
}

Message welcome(const Message& introduction, const std::string& key, const std::string& nonce) {
  return {{"welcome", true}, {"proof", proof("first", key, nonce, text_in(introduction, "nonce"))}};
}

bool is_welcome(const Message& answer, const Message& introduction, const std::string& key,
                const std::string& nonce) {
  return flag_in(answer, "welcome") &&
         equal(text_in(answer, "proof"),
               proof("first", key, nonce, text_in(introduction, "nonce")));
}

}  // namespace scalebench
