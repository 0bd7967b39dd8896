// SPDX-License-Identifier: Apache-2.0
#include "bench/join/endpoint.hpp"

#include <charconv>

#include "bench/study/hosts.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

constexpr int kMostPort = 65535;
constexpr int kPorts = 8;

}  // namespace

Endpoint parse_endpoint(std::string_view text, std::string_view source) {
  const std::size_t colon = text.rfind(':');
  const std::string_view digits =
      colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
  int port = 0;
  const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (error != std::errc() || stop != digits.data() + digits.size() || port < 1 ||
      port > kMostPort) {
    fail<UsageError>("{}: '{}'; valid: \"host:port\" with a port from 1 to {}", source, text,
                     kMostPort);
  }
  const Hosts hosts = parse_hosts(text.substr(0, colon), source);
  if (hosts.size() != 1 || hosts.front().slots != 0) {
    fail<UsageError>("{}: '{}'; valid: one \"host:port\"", source, text);
  }
  std::string address = hosts.front().name;
  if (address.starts_with('[')) address = address.substr(1, address.size() - 2);
  return {address, port};
}

std::string describe(const Endpoint& endpoint) {
  const bool bare = endpoint.address.find(':') == std::string::npos;
  return bare ? fmt::format("{}:{}", endpoint.address, endpoint.port)
              : fmt::format("[{}]:{}", endpoint.address, endpoint.port);
}

std::vector<int> meeting_ports(const Endpoint& endpoint) {
  std::vector<int> ports;
  for (int port = endpoint.port; port <= kMostPort && port < endpoint.port + kPorts; ++port) {
    ports.push_back(port);
  }
  return ports;
}

}  // namespace scalebench
