// SPDX-License-Identifier: Apache-2.0
#include "bench/join/host_facts.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>

namespace scalebench {

std::string own_host_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

int own_cores() {
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof cores, &cores) != 0) return 1;
  return std::max(1, CPU_COUNT(&cores));
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
