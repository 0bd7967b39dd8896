// SPDX-License-Identifier: Apache-2.0
// Ranks with the fewest choices choose first. Where any two ranks see the same devices, none in
// common, or one of them a part of the other's, as launchers arrange it, each rank then has a
// device of its own if that is possible at all: when one finds none, all that it may take are taken
// by ranks that may take no others, which are too many (Hall's theorem).
#include "bench/machine/device_choice.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string_view>

#include "kernels/error.hpp"
#include "kernels/read_number.hpp"

namespace scalebench {
namespace {

std::optional<int> number_in(std::string_view word) {
  const auto number = read_number<int>(word);
  return number && *number >= 0 ? number : std::nullopt;
}

/// Without "GPU-" or "MIG-": the tools do not agree on what a slice is called.
std::string_view bare(std::string_view uuid) {
  return uuid.starts_with("GPU-") || uuid.starts_with("MIG-") ? uuid.substr(4) : uuid;
}

bool is_uuid(std::string_view word) {
  const auto hexadecimal = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || c == '-';
  };
  return bare(word).size() == 36 && bare(word) != word &&
         std::ranges::all_of(bare(word), hexadecimal);
}

/// The positions in `view` that `named` leaves, in its order.
std::vector<int> allowed(const DeviceView& view, const std::vector<std::string>& named) {
  const int seen = static_cast<int>(view.uuids.size());
  std::vector<int> positions(static_cast<std::size_t>(named.empty() ? seen : 0));
  std::iota(positions.begin(), positions.end(), 0);
  for (const std::string& word : named) {
    if (const std::optional<int> number = number_in(word)) {
      if (*number >= seen && seen > 0) {
        fail<UsageError>("--devices: there is no device {}, host {} has 0 to {}", *number,
                         view.host, seen - 1);
      }
      if (seen > 0) positions.push_back(*number);
      continue;
    }
    const auto found = std::ranges::find(view.uuids, bare(word), &bare);
    if (found != view.uuids.end()) {
      positions.push_back(static_cast<int>(found - view.uuids.begin()));
    }
  }
  return positions;
}

void require_seen(const std::vector<DeviceView>& views, const std::vector<std::string>& named) {
  std::set<std::string_view> seen;
  for (const DeviceView& view : views) {
    for (const std::string& uuid : view.uuids) seen.insert(bare(uuid));
  }
  for (const std::string& word : named) {
    if (number_in(word) || seen.empty() || seen.contains(bare(word))) continue;
    fail<UsageError>("--devices: no rank sees {} (nvidia-smi -L lists what there is)", word);
  }
}

/// By rank, the positions in its view that it may take.
using Choices = std::vector<std::vector<int>>;

std::string too_few(const std::vector<DeviceView>& views, const Choices& choices,
                    std::size_t without, bool named) {
  const std::string& host = views[without].host;
  std::size_t ranks = 0, devices = 0;
  for (std::size_t rank = 0; rank < views.size(); ++rank) {
    if (views[rank].host != host) continue;
    ++ranks;
    devices = std::max(devices, choices[rank].size());
  }
  return fmt::format(
      "{} rank(s) and {}{} device(s) on host {}: start fewer ranks, {}or take --share-devices "
      "(rows are then emulated) or --device cpu",
      ranks, devices, named ? " named" : "", host, named ? "name one for each, " : "");
}

}  // namespace

std::vector<std::string> parse_devices(const std::string& text) {
  std::vector<std::string> devices;
  for (std::string_view left = text; !left.empty();) {
    const std::string_view word = left.substr(0, left.find(','));
    const bool more = word.size() < left.size();
    left.remove_prefix(word.size() + (more ? 1 : 0));
    const std::optional<int> number = number_in(word);
    if ((!number && !is_uuid(word)) || (more && left.empty())) {
      fail<UsageError>(
          "--devices {}: expected device numbers such as 0,2, or UUIDs (nvidia-smi -L)", text);
    }
    devices.push_back(number ? std::to_string(*number) : std::string(word));
    const auto same = [&](const std::string& one) { return bare(one) == bare(devices.back()); };
    if (std::ranges::count_if(devices, same) > 1) {
      fail<UsageError>("--devices {}: device {} is named twice", text, word);
    }
  }
  return devices;
}

DevicePlacement place_ranks(const std::vector<DeviceView>& views,
                            const std::vector<std::string>& named, bool share) {
  require_seen(views, named);
  Choices choices;
  for (const DeviceView& view : views) choices.push_back(allowed(view, named));
  std::vector<std::size_t> order(views.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t rank) { return choices[rank].size(); });
  DevicePlacement placement;
  placement.index.resize(views.size());
  std::map<std::string_view, int> ranks_on;
  for (const std::size_t rank : order) {
    const auto load_of = [&](int at) -> int& {
      return ranks_on[bare(views[rank].uuids[static_cast<std::size_t>(at)])];
    };
    const auto taken = std::ranges::min_element(choices[rank], {}, load_of);
    if (taken == choices[rank].end() || (load_of(*taken) > 0 && !share)) {
      return {.why_not = too_few(views, choices, rank, !named.empty())};
    }
    placement.shared = load_of(*taken)++ > 0 || placement.shared;
    placement.index[rank] = *taken;
  }
  return placement;
}

}  // namespace scalebench
