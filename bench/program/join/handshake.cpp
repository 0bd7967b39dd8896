// SPDX-License-Identifier: Apache-2.0
#include "bench/program/join/handshake.hpp"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <span>

#include "bench/machine/digest.hpp"
#include "bench/machine/identity.hpp"

namespace scalebench {
namespace {

constexpr int kProtocol = 1;

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

/// Cores that this process may use.
int own_cores() {
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof cores, &cores) != 0) return 1;
  return std::max(1, CPU_COUNT(&cores));
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

Message introduction_of(const JoinPlan& plan) {
  return {{"process", plan.process},
          {"agent", plan.is_agent},
          {"host", plan.host.empty() ? own_host_name() : plan.host},
          {"name", own_host_name()},
          {"machine", boot_id()},
          {"slots", plan.slots},
          {"cores", own_cores()}};
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

void use_all_cores() {
  cpu_set_t all;
  std::memset(&all, 0xff, sizeof all);  // the kernel leaves those that are there and allowed
  sched_setaffinity(0, sizeof all, &all);
}

std::string plain_host_name(std::string_view name) {
  const bool is_address = name.find_first_not_of("0123456789.") == std::string_view::npos;
  std::string plain(is_address ? name : name.substr(0, name.find('.')));
  for (char& c : plain) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.') c = '-';
  }
  return plain.empty() ? "host" : plain;
}

}  // namespace scalebench
