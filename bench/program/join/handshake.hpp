// SPDX-License-Identifier: Apache-2.0
// How two processes of one job know each other: each shows, over random numbers of both, that it
// knows the job's key, which is never sent (HMAC-SHA256). The key comes from the job's variables,
// and from SCALEBENCH_JOIN_SECRET where the user sets that on all hosts. What follows is not
// encrypted, as nothing is that MPI sends.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "bench/program/join/environments.hpp"
#include "bench/program/join/sockets.hpp"

namespace scalebench {

inline constexpr std::size_t kNonceBytes = 16;

inline constexpr const char* kSecretVariable = "SCALEBENCH_JOIN_SECRET";

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
/// Whether the one who introduces itself knows the key.
bool knows_key(const Message& introduction, const std::string& key, const std::string& nonce);

/// The first one's own proof, in answer to an introduction.
Message welcome(const Message& introduction, const std::string& key, const std::string& nonce);
bool is_welcome(const Message& answer, const Message& introduction, const std::string& key,
                const std::string& nonce);

/// Gives this process, and what it will start, every core that its container has.
void use_all_cores();

/// A name that mpirun leaves as it is: without domain, of letters, digits and '-' alone; addresses
/// of IPv4 stay.
std::string plain_host_name(std::string_view name);

}  // namespace scalebench
