// SPDX-License-Identifier: Apache-2.0
// Sockets of a meeting: TCP between hosts; within the first one a local socket without a file, for
// processes of the same user. All are closed on exec and never block.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "bench/join/descriptor.hpp"
#include "bench/join/endpoint.hpp"

namespace scalebench {

struct Listener {
  Descriptor socket;
  Endpoint at;
};

/// Listens at the first of `ports` that is free: on `address` where that is this host's, else (a
/// name that the network translates) on all addresses of the host. Throws Error when none is free.
Listener listen_at(const std::string& address, const std::vector<int>& ports);

/// Not open when nobody is waiting. `peer` becomes the other end's address.
Descriptor accept_from(const Descriptor& listener, std::string& peer);

/// Tries all addresses of the name, each for `patience`. Not open when none answers; `why` then
/// says it in a few words.
Descriptor connect_to(const Endpoint& endpoint, std::chrono::milliseconds patience,
                      std::string& why);

/// A local socket under a new name, which `name` becomes.
Descriptor listen_locally(std::string& name);
/// Not open when nobody listens there, or another user does.
Descriptor connect_locally(const std::string& name);
/// Whether the other end of a local socket belongs to this user, or to root.
bool is_same_user(const Descriptor& socket);

/// `bytes` of the kernel's randomness as hex digits.
std::string random_hex(std::size_t bytes);

}  // namespace scalebench
