// SPDX-License-Identifier: Apache-2.0
// How two processes of one job know each other: each shows, over random numbers of both, that it
// knows the job's key, which is never sent (HMAC-SHA256), and puts its name to all that it says of
// itself. The key is made of the job's variables, which others may know, and of a secret, which
// they may not. What follows is signed, not encrypted: somebody in between can listen and cut, and
// change nothing. After ISO/IEC 9798-4 (three passes, both sides).
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "bench/program/join/environments.hpp"
#include "bench/program/join/sockets.hpp"

namespace scalebench {

inline constexpr std::size_t kNonceBytes = 16;

inline constexpr const char* kSecretVariable = "SCALEBENCH_JOIN_SECRET";

/// What nobody but the processes of a start knows: `given` (of SCALEBENCH_JOIN_SECRET) where there
/// is one. Else all must be of one host, and it is this user's own secret there (private_secret);
/// `plan` then meets on the loopback. Throws UsageError, one line, where the meeting is on a
/// network and no secret is given, or one that can be guessed.
std::string join_secret(JoinPlan& plan, const std::string& given,
                        const std::filesystem::path& folder);

/// Where join_secret looks: "/tmp/scalebench-UID".
std::filesystem::path private_folder();

/// 64 random hex digits in a file that only this user can read, made by whoever needs it first.
/// `folder` is made too. Throws UsageError where somebody else owns it, or can look into it.
std::string private_secret(const std::filesystem::path& folder);

/// 64 hex digits.
std::string job_key(const std::string& job, const std::string& secret);

/// What the first process says to whoever connects, with its random number.
Message greeting(const std::string& nonce);
/// The random number of a greeting; empty when it is none.
std::optional<std::string> greeted(const Message& message);

/// What a process says of itself.
Message introduction_of(const JoinPlan& plan);

/// `introduction` with a random number of its own and the proof of the key.
Message introduced(Message introduction, const std::string& key, const std::string& nonce);
/// Whether the one who introduces itself knows the key, and has said just this.
bool knows_key(const Message& introduction, const std::string& key, const std::string& nonce);

/// The first one's own proof, in answer to an introduction. `refused`: why it may not stay; empty:
/// it may.
Message welcome(const Message& introduction, const std::string& key, const std::string& nonce,
                const std::string& refused);
bool is_welcome(const Message& answer, const Message& introduction, const std::string& key,
                const std::string& nonce);

/// What the two sign with from then on: known to these two, in this conversation.
std::string conversation_key(const Message& introduction, const std::string& key,
                             const std::string& nonce);

/// Gives this process, and what it will start, every core that its container has.
void use_all_cores();

/// A name that mpirun leaves as it is: without domain, of letters, digits and '-' alone; addresses
/// of IPv4 stay.
std::string plain_host_name(std::string_view name);

}  // namespace scalebench
