// SPDX-License-Identifier: Apache-2.0
// At which of its addresses rank 0 waits for the other ranks: at those that they need, so that
// nobody else finds it.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace scalebench {

inline constexpr const char* kLoopbacks[] = {"127.0.0.1", "::1"};

/// An address of this host and the mask of its network, both as numbers: "10.0.0.1",
/// "255.255.255.0".
struct NetworkAddress {
  std::string address, mask;
};

/// Of all interfaces that are up, IPv4 first, without loopback and what is valid on one link only.
std::vector<NetworkAddress> own_addresses();

/// Where this process is, in words that are equal where two share their loopback: the machine, its
/// network namespace, and own_addresses().
std::string own_place();

/// Of this host's addresses, that from which `address` is reached; empty: it is not.
std::string address_towards(const std::string& address);

/// Where the rank at places[0] is to listen so that those at the other places reach it: at both
/// loopbacks for those of its own place; for each other one at those of `mine` that are in one
/// network with it, or, where there are none, those from which `towards` it a route leads.
std::vector<std::string> needed_addresses(
    const std::vector<NetworkAddress>& mine, std::span<const std::string> places,
    const std::function<std::string(const std::string&)>& towards = address_towards);

}  // namespace scalebench
