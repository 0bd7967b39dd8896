// SPDX-License-Identifier: Apache-2.0
#include "bench/program/join/handshake.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/crypto.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>

#include "bench/machine/digest.hpp"
#include "bench/machine/host_files.hpp"
#include "bench/machine/identity.hpp"
#include "kernels/error.hpp"
#include "kernels/json/parse_json.hpp"

namespace scalebench {
namespace {

namespace fs = std::filesystem;

constexpr int kProtocol = 2;
constexpr const char* kProof = "proof";

/// Over all that `message` says beside the proof itself.
std::string proof(const char* who, const std::string& key, const std::string& nonces,
                  Message message) {
  message.erase(kProof);
  return hmac_sha256(key, fmt::format("{} {} {}", who, nonces, line_of(message)));
}

bool equal(const std::string& a, const std::string& b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string nonce_in(const Message& introduction) { return text_in(introduction, "nonce"); }

// The secret of a host.

constexpr std::size_t kLeastSecret = 16;  // characters; of random hex digits 64 bits
constexpr std::size_t kSecretBytes = 32;
constexpr const char* kSecretFile = "join.key";
constexpr const char* kRemedy =
    "set SCALEBENCH_JOIN_SECRET to the same text in all processes, as of: openssl rand -hex 16";

[[noreturn]] void refuse_private(const fs::path& path, std::string_view what) {
  fail<UsageError>("'{}' {}: it cannot hold this user's secret; remove it, or {}", path.string(),
                   what, kRemedy);
}

/// Nobody but this user, and root, can have put something there or can read it.
void require_private(const Descriptor& opened, const fs::path& path) {
  struct stat there {};
  if (fstat(opened.number(), &there) != 0) refuse_private(path, std::strerror(errno));
  if (there.st_uid != geteuid()) {
    refuse_private(path, fmt::format("belongs to user {}", there.st_uid));
  }
  if ((there.st_mode & 077U) != 0) {
    refuse_private(path, fmt::format("is open to others (mode {:o})", there.st_mode & 0777U));
  }
}

/// Through no link, whose owner is not asked for here.
Descriptor open_private_folder(const fs::path& folder) {
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    refuse_private(folder, std::strerror(errno));
  }
  Descriptor opened(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!opened.is_open()) {
    const bool is_link = errno == ELOOP || errno == ENOTDIR;
    refuse_private(folder, is_link ? "is no folder" : std::strerror(errno));
  }
  require_private(opened, folder);
  return opened;
}

/// Under its name only once it is whole: others may be looking. Whoever comes second keeps that of
/// the first.
void make_secret(const Descriptor& folder, const fs::path& path) {
  const std::string own = fmt::format(".{}.{}", kSecretFile, random_hex(8));
  const Descriptor file(openat(folder.number(), own.c_str(),
                               O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.is_open()) refuse_private(path, std::strerror(errno));
  const std::string secret = random_hex(kSecretBytes);
  const bool is_written =
      write(file.number(), secret.data(), secret.size()) == static_cast<ssize_t>(secret.size());
  const bool is_there =
      is_written && (linkat(folder.number(), own.c_str(), folder.number(), kSecretFile, 0) == 0 ||
                     errno == EEXIST);
  const int reason = errno;
  unlinkat(folder.number(), own.c_str(), 0);
  if (!is_there) refuse_private(path, std::strerror(reason));
}

}  // namespace

fs::path private_folder() { return fmt::format("/tmp/scalebench-{}", geteuid()); }

std::string private_secret(const fs::path& folder) {
  const Descriptor opened = open_private_folder(folder);
  const fs::path path = folder / kSecretFile;
  const auto open_secret = [&] {
    return Descriptor(
        openat(opened.number(), kSecretFile, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  };
  Descriptor file = open_secret();
  if (!file.is_open() && errno == ENOENT) {
    make_secret(opened, path);
    file = open_secret();
  }
  if (!file.is_open()) {
    refuse_private(path, errno == ELOOP ? "is a link" : std::strerror(errno));
  }
  require_private(file, path);
  std::array<char, 2 * kSecretBytes + 1> text{};
  const ssize_t count = read(file.number(), text.data(), text.size());
  if (count != static_cast<ssize_t>(2 * kSecretBytes)) {
    refuse_private(path, fmt::format("has not the length of a secret ({})", 2 * kSecretBytes));
  }
  return {text.data(), 2 * kSecretBytes};
}

std::string join_secret(JoinPlan& plan, const std::string& given, const fs::path& folder) {
  if (!given.empty()) {
    if (given.size() >= kLeastSecret) return given;
    fail<UsageError>(
        "{}: {} characters can be guessed; valid: at least {}, as of: openssl rand "
        "-hex 16",
        kSecretVariable, given.size(), kLeastSecret);
  }
  std::optional<std::string> loopback = loopback_address(plan.meeting.address);
  if (!loopback && plan.is_on_one_host) loopback = "127.0.0.1";
  if (!loopback) {
    fail<UsageError>(
        "{}: meeting at {} needs a secret, or anybody on that network could join and "
        "start programs here: {}",
        plan.source, describe(plan.meeting), kRemedy);
  }
  // As a number: a name might lead elsewhere when it is asked for again.
  plan.meeting.address = *loopback;
  return private_secret(folder);
}

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
          {"cores", static_cast<int>(usable_cores().size())}};
}

Message introduced(Message introduction, const std::string& key, const std::string& nonce) {
  introduction["nonce"] = random_hex(kNonceBytes);
  introduction[kProof] = proof("member", key, nonce, introduction);
  return introduction;
}

bool knows_key(const Message& introduction, const std::string& key, const std::string& nonce) {
  return equal(text_in(introduction, kProof), proof("member", key, nonce, introduction));
}

Message welcome(const Message& introduction, const std::string& key, const std::string& nonce,
                const std::string& refused) {
  Message answer{{"welcome", true}};
  if (!refused.empty()) answer["refused"] = refused;
  answer[kProof] = proof("first", key, nonce + " " + nonce_in(introduction), answer);
  return answer;
}

bool is_welcome(const Message& answer, const Message& introduction, const std::string& key,
                const std::string& nonce) {
  return flag_in(answer, "welcome") &&
         equal(text_in(answer, kProof),
               proof("first", key, nonce + " " + nonce_in(introduction), answer));
}

std::string conversation_key(const Message& introduction, const std::string& key,
                             const std::string& nonce) {
  return hmac_sha256(key, fmt::format("conversation {} {}", nonce, nonce_in(introduction)));
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
