// SPDX-License-Identifier: Apache-2.0
#include "bench/machine/energy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>

#include "kernels/read_number.hpp"

namespace scalebench {

/// A counter of microjoules that begins again at `range`.
struct EnergyMeter::Zone {
  std::filesystem::path file;
  double range = 0;
  double before = 0;
  double joules = 0;
};

namespace {

constexpr double kMicro = 1e-6;

/// The number in a file; else why not.
struct Reading {
  std::optional<double> value;
  std::string why;
};
Reading counter_in(const std::filesystem::path& file) {
  errno = 0;
  std::ifstream stream(file);
  std::string line;
  if (!std::getline(stream, line)) {
    return {
        {},
        fmt::format("{}: {}", file.string(), errno != 0 ? std::strerror(errno) : "nothing in it")};
  }
  const auto value = read_number<double>(line);
  if (!value || *value < 0) return {{}, fmt::format("{}: '{}' is no counter", file.string(), line)};
  return {*value, ""};
}

std::string name_in(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  return line;
}

/// A package, and its memory, which is counted apart from it. Cores and graphics are part of their
/// package, and psys holds all of them once more.
bool is_counted(const std::string& name) { return name.starts_with("package") || name == "dram"; }

}  // namespace

EnergyMeter::EnergyMeter(bool host, const std::string& card, const std::filesystem::path& root,
                         const std::string& library)
    : nvml_(card.empty() ? "" : library) {
  if (host) find_zones(root);
  if (card.empty()) return;
  const Nvml::Found found = nvml_.find(card);
  if (found.card == nullptr) no_card_ = fmt::format("the driver knows no card {}", card);
  // Ranks on two slices would count the whole card twice.
  if (found.slice != nullptr) no_card_ = "a slice of a card has no counter of its own";
  if (no_card_.empty()) card_ = found.card;
}

EnergyMeter::~EnergyMeter() {
  looks_.request_stop();
  stopped_.notify_all();
}

void EnergyMeter::find_zones(const std::filesystem::path& root) {
  const std::filesystem::path folder = root / "sys/class/powercap";
  std::error_code error;
  std::vector<std::filesystem::path> entries;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    entries.push_back(entry.path());
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    no_host_ = fmt::format("{}: {}", folder.string(), error.message());
  }
  std::ranges::sort(entries);
  for (const auto& entry : entries) {
    // intel-rapl:0, and intel-rapl:0:1 within it; AMD's processors have the same names.
    // intel-rapl-mmio:0 is the same package by another way.
    if (!entry.filename().string().starts_with("intel-rapl:")) continue;
    if (!is_counted(name_in(entry / "name"))) continue;
    const Reading range = counter_in(entry / "max_energy_range_uj");
    const Reading now = counter_in(entry / "energy_uj");
    for (const Reading& reading : {range, now}) {
      if (!reading.value && no_host_.empty()) no_host_ = reading.why;
    }
    if (range.value && now.value) zones_.push_back({entry / "energy_uj", *range.value, 0, 0});
  }
  if (zones_.empty() && no_host_.empty()) {
    no_host_ = fmt::format("no RAPL counter in {}", folder.string());
  }
}

void EnergyMeter::look() {
  for (Zone& zone : zones_) {
    const Reading now = counter_in(zone.file);
    if (!now.value) {
      no_host_ = now.why;
      return;
    }
    const double used = *now.value - zone.before;
    zone.joules += kMicro * (used < 0 ? used + zone.range : used);
    zone.before = *now.value;
  }
}

void EnergyMeter::keep_looking(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    stopped_.wait_for(lock, stop, std::chrono::duration<double>(kLookSeconds),
                      [] { return false; });
    if (!stop.stop_requested()) look();
  }
}

void EnergyMeter::start() {
  const std::lock_guard lock(mutex_);
  if (no_host_.empty() && !zones_.empty()) {
    look();
    for (Zone& zone : zones_) zone.joules = 0;
    if (!looks_.joinable()) {
      looks_ = std::jthread([this](const std::stop_token& stop) { keep_looking(stop); });
    }
  }
  card_before_ = nvml_.joules(card_);
}

Energy EnergyMeter::stop() {
  Energy energy;
  {
    const std::lock_guard lock(mutex_);
    if (no_host_.empty() && !zones_.empty()) look();
    // One counter that is lacking makes the sum of the others something else.
    energy.no_host = no_host_;
    if (no_host_.empty() && !zones_.empty()) {
      double joules = 0;
      for (const Zone& zone : zones_) joules += zone.joules;
      energy.host_joules = joules;
    }
  }
  energy.no_card = no_card_;
  if (card_ == nullptr) return energy;
  const std::optional<double> now = nvml_.joules(card_);
  if (!now || !card_before_) {
    energy.no_card = "the card does not count its energy (before Volta)";
  } else if (*now < *card_before_) {
    energy.no_card = "the card's counter began again: its driver was loaded anew";
  } else {
    energy.card_joules = *now - *card_before_;
  }
  return energy;
}

}  // namespace scalebench
