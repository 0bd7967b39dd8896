// SPDX-License-Identifier: Apache-2.0
#include "bench/device_choice.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "kernels/error.hpp"

namespace scalebench {

std::vector<int> parse_devices(const std::string& text) {
  std::vector<int> devices;
  for (std::string_view left = text; !left.empty();) {
    const std::string_view word = left.substr(0, left.find(','));
    int device = -1;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), device);
    const bool more = word.size() < left.size();
    left.remove_prefix(word.size() + (more ? 1 : 0));
    if (error != std::errc() || end != word.data() + word.size() || device < 0 ||
        (more && left.empty())) {
      fail<UsageError>("--devices {}: expected device numbers such as 0,2", text);
    }
    if (std::ranges::find(devices, device) != devices.end()) {
      fail<UsageError>("--devices {}: device {} is named twice", text, device);
    }
    devices.push_back(device);
  }
  return devices;
}

int device_of_rank(const std::vector<int>& devices, int local_rank, int local_size, int available) {
  if (devices.empty()) return local_rank;
  const int largest = *std::ranges::max_element(devices);
  if (largest >= available) {
    fail<UsageError>("--devices: there is no device {}, this host has {}", largest,
                     available == 0 ? "none" : fmt::format("0 to {}", available - 1));
  }
  const int named = static_cast<int>(devices.size());
  if (named < local_size) {
    fail<UsageError>("--devices: {} device(s) for {} ranks of a host; name one for each", named,
                     local_size);
  }
  return devices[static_cast<std::size_t>(local_rank)];
}

}  // namespace scalebench
