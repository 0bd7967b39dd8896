// SPDX-License-Identifier: Apache-2.0
// Distinct devices are a matching of ranks and UUIDs (Kuhn's augmenting paths).
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

class Matching {
 public:
  Matching(const std::vector<DeviceView>& views, const std::vector<std::string>& named)
      : views_(views), index_(views.size(), -1) {
    for (const DeviceView& view : views) allowed_.push_back(allowed(view, named));
  }

  /// A device that nobody has, or that its rank can give up for another one.
  bool give_own(std::size_t rank) {
    std::set<std::string_view> tried;
    return give_own(rank, tried);
  }

  /// The device with the fewest ranks; false: this rank may use none.
  bool join(std::size_t rank) {
    if (allowed_[rank].empty()) return false;
    const auto ranks_on = [&](int at) { return ranks_on_[uuid(rank, at)]; };
    index_[rank] = *std::ranges::min_element(allowed_[rank], {}, ranks_on);
    ++ranks_on_[uuid(rank, index_[rank])];
    return true;
  }

  const std::vector<int>& index() const { return index_; }
  std::size_t choices(std::size_t rank) const { return allowed_[rank].size(); }

 private:
  std::string_view uuid(std::size_t rank, int at) const {
    return bare(views_[rank].uuids[static_cast<std::size_t>(at)]);
  }

  bool give_own(std::size_t rank, std::set<std::string_view>& tried) {
    for (const bool free_ones : {true, false}) {
      for (const int at : allowed_[rank]) {
        const std::string_view device = uuid(rank, at);
        const auto owner = owner_.find(device);
        if ((owner == owner_.end()) != free_ones) continue;
        if (!free_ones) {
          if (!tried.insert(device).second || !give_own(owner->second, tried)) continue;
        }
        owner_[device] = rank;
        ranks_on_[device] = 1;
        index_[rank] = at;
        return true;
      }
    }
    return false;
  }

  const std::vector<DeviceView>& views_;
  std::vector<std::vector<int>> allowed_;
  std::vector<int> index_;
  std::map<std::string_view, std::size_t> owner_;
  std::map<std::string_view, int> ranks_on_;
};

std::string too_few(const std::vector<DeviceView>& views, const Matching& matching,
                    std::size_t without, bool named) {
  const std::string& host = views[without].host;
  std::size_t ranks = 0, devices = 0;
  for (std::size_t rank = 0; rank < views.size(); ++rank) {
    if (views[rank].host != host) continue;
    ++ranks;
    devices = std::max(devices, matching.choices(rank));
  }
  return fmt::format(
      "{} rank(s) and {}{} device(s) on host {}: start fewer ranks, {}or take --share-devices "
      "(rows "
      "are then emulated) or --device cpu",
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
  Matching matching(views, named);
  DevicePlacement placement;
  std::vector<std::size_t> without;
  for (std::size_t rank = 0; rank < views.size(); ++rank) {
    if (!matching.give_own(rank)) without.push_back(rank);
  }
  for (const std::size_t rank : without) {
    if (!share || !matching.join(rank)) {
      placement.why_not = too_few(views, matching, rank, !named.empty());
      return placement;
    }
  }
  placement.shared = !without.empty();
  placement.index = matching.index();
  return placement;
}

}  // namespace scalebench
