// SPDX-License-Identifier: Apache-2.0
#include "bench/program/watchdog/addresses.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <sstream>

#include "bench/machine/identity.hpp"
#include "bench/machine/tcp.hpp"

namespace scalebench {
namespace {

/// 4 of IPv4, 16 of IPv6, none of anything else.
std::vector<unsigned char> bytes_of(const std::string& address) {
  std::array<unsigned char, 16> bytes{};
  if (inet_pton(AF_INET, address.c_str(), bytes.data()) == 1) {
    return {bytes.begin(), bytes.begin() + 4};
  }
  if (inet_pton(AF_INET6, address.c_str(), bytes.data()) == 1) return {bytes.begin(), bytes.end()};
  return {};
}

bool is_in_network_of(const NetworkAddress& mine, const std::string& address) {
  const auto a = bytes_of(mine.address), b = bytes_of(address), mask = bytes_of(mine.mask);
  if (a.empty() || a.size() != b.size() || a.size() != mask.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (((a[i] ^ b[i]) & mask[i]) != 0) return false;
  }
  return true;
}

/// As own_place() says them.
std::vector<std::string> addresses_in(const std::string& place) {
  std::istringstream in(place);
  std::string word;
  in >> word >> word;  // machine and namespace
  std::vector<std::string> addresses;
  while (in >> word) addresses.push_back(word);
  return addresses;
}

}  // namespace

std::vector<NetworkAddress> own_addresses() {
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(first, &freeifaddrs);
  std::vector<NetworkAddress> addresses;
  for (const ifaddrs* one = first; one != nullptr; one = one->ifa_next) {
    const bool usable = (one->ifa_flags & IFF_UP) != 0 && (one->ifa_flags & IFF_LOOPBACK) == 0;
    if (one->ifa_addr == nullptr || !usable) continue;
    const sa_family_t family = one->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    NetworkAddress found{numeric(one->ifa_addr),
                         one->ifa_netmask == nullptr ? "" : numeric(one->ifa_netmask)};
    if (found.address.empty() || found.address.find('%') != std::string::npos) continue;
    addresses.insert(family == AF_INET ? addresses.begin() : addresses.end(), std::move(found));
  }
  return addresses;
}

std::string own_place() {
  std::array<char, 64> space{};
  const bool is_known = readlink("/proc/self/ns/net", space.data(), space.size() - 1) > 0;
  const std::string machine = boot_id();
  std::string place =
      fmt::format("{} {}", machine.empty() ? "-" : machine, is_known ? space.data() : "-");
  for (const NetworkAddress& one : own_addresses()) place += " " + one.address;
  return place;
}

std::string address_towards(const std::string& address) {
  std::string unused;
  constexpr int kDiscard = 9;
  return own_address_towards(addresses_of(address, kDiscard, AI_NUMERICHOST, unused));
}

std::vector<std::string> needed_addresses(
    const std::vector<NetworkAddress>& mine, std::span<const std::string> places,
    const std::function<std::string(const std::string&)>& towards) {
  std::vector<std::string> needed;
  const auto add = [&](const std::string& address) {
    if (!address.empty() && std::ranges::find(needed, address) == needed.end()) {
      needed.push_back(address);
    }
  };
  for (const std::string& place : places.subspan(1)) {
    if (place == places[0]) {
      for (const char* const loopback : kLoopbacks) add(loopback);
      continue;
    }
    std::vector<std::string> theirs = addresses_in(place);
    // What both have leads to neither's other: bridges of virtual machines are alike everywhere.
    std::erase_if(theirs, [&](const std::string& address) {
      return std::ranges::find(mine, address, &NetworkAddress::address) != mine.end();
    });
    bool is_near = false;
    for (const NetworkAddress& own : mine) {
      const bool both = std::ranges::any_of(
          theirs, [&](const std::string& address) { return is_in_network_of(own, address); });
      if (both) add(own.address);
      is_near = is_near || both;
    }
    if (is_near) continue;
    for (const std::string& address : theirs) add(towards(address));
  }
  return needed;
}

}  // namespace scalebench
