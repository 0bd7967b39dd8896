// SPDX-License-Identifier: Apache-2.0
// An address and a port of TCP.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace scalebench {

struct Endpoint {
  std::string address;  // a name or a number; IPv6 without brackets
  int port = 0;         // 1 to 65535
  bool operator==(const Endpoint&) const = default;
};

/// "host:2222", "[fd00::2]:2222". Throws UsageError that begins with `source`.
Endpoint parse_endpoint(std::string_view text, std::string_view source);

/// As parse_endpoint reads it.
std::string describe(const Endpoint& endpoint);

/// The ports to meet at, the first that is free: `endpoint`'s own and the seven after it. A port
/// that was chosen ahead may have been taken since, and then whoever comes looks into the next.
std::vector<int> meeting_ports(const Endpoint& endpoint);

}  // namespace scalebench
