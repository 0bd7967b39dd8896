// SPDX-License-Identifier: Apache-2.0
// What a machine has used, in joules, as its own counters say: the processors' and their memory's
// (RAPL, through the kernel's powercap) and a card's (NVIDIA's management library). Nothing is made
// up from a power and a time: where no counter can be read there is a reason instead.
// Sources: Documentation/power/powercap/powercap.rst of Linux;
// nvmlDeviceGetTotalEnergyConsumption of nvml.h (from Volta on).
#pragma once

#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "bench/machine/host_load.hpp"

namespace scalebench {

/// Used between start() and stop(). A number that is not there has its reason.
struct Energy {
  std::optional<double> host_joules;  // packages and their memory; all cores, whoever works on them
  std::string no_host;
  std::optional<double> card_joules;
  std::string no_card;
};

/// One host's counters, one card's, or both. Construct once; start() and stop() as often as wished.
class EnergyMeter {
 public:
  /// `host`: this rank asks for its host. `card`: the UUID of the card to ask for; empty: none.
  /// `root` and `library` are others than the machine's own in tests only.
  EnergyMeter(bool host, const std::string& card, const std::filesystem::path& root = "/",
              const std::string& library = "libnvidia-ml.so.1");
  ~EnergyMeter();
  EnergyMeter(const EnergyMeter&) = delete;
  EnergyMeter& operator=(const EnergyMeter&) = delete;

  void start();
  /// Once after each start().
  Energy stop();

  /// Seconds between two looks at a counter that wraps: a package's 32 bits of 61 µJ are 262 kJ,
  /// which take minutes at the least.
  static constexpr double kLookSeconds = 20;

 private:
  struct Zone;

  void find_zones(const std::filesystem::path& root);
  /// Adds what each zone has counted since the last look. Under mutex_.
  void look();
  void keep_looking(const std::stop_token& stop);

  Nvml nvml_;
  Nvml::Device card_ = nullptr;
  std::string no_card_;
  std::optional<double> card_before_;
  std::mutex mutex_;
  std::condition_variable_any stopped_;
  std::vector<Zone> zones_;
  std::string no_host_;
  std::jthread looks_;  // last: ends before what it uses
};

}  // namespace scalebench
