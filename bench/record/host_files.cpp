// SPDX-License-Identifier: Apache-2.0
#include "bench/record/host_files.hpp"

#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <fstream>
#include <set>
#include <system_error>

#include "kernels/error.hpp"

namespace scalebench {
namespace {

namespace fs = std::filesystem;

std::string trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n\"");
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(" \t\r\n\"") - first + 1));
}

/// The number that `text` begins with.
std::optional<double> leading_number(std::string_view text) {
  double value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  return value;
}

std::optional<double> leading_number(const std::optional<std::string>& text) {
  return text ? leading_number(std::string_view(*text)) : std::nullopt;
}

std::string no_file(const fs::path& file) { return fmt::format("no /{} here", file.string()); }

constexpr const char* kNoFrequencyControl =
    "this kernel or virtual machine shows no frequency control";

}  // namespace

std::optional<std::string> HostFiles::line(const fs::path& file) const {
  std::ifstream stream(root_ / file);
  std::string text;
  if (!std::getline(stream, text)) return std::nullopt;
  return trimmed(text);
}

std::optional<std::string> HostFiles::field(const fs::path& file, std::string_view name,
                                            char separator) const {
  std::ifstream stream(root_ / file);
  for (std::string text; std::getline(stream, text);) {
    const std::size_t at = text.find(separator);
    if (at != std::string::npos && trimmed(text.substr(0, at)) == name) {
      return trimmed(text.substr(at + 1));
    }
  }
  return std::nullopt;
}

Fact HostFiles::line_fact(const fs::path& file) const {
  return Fact::of(line(file), no_file(file));
}

Fact HostFiles::gib_fact(std::string_view name) const {
  const auto kib = leading_number(field("proc/meminfo", name, ':'));
  if (!kib) return Fact::absent(fmt::format("no {} in /proc/meminfo", name));
  return Fact::of(std::round(*kib / 1048576.0 * 10.0) / 10.0);
}

Fact HostFiles::cpu_model() const {
  const fs::path file = "proc/cpuinfo";
  if (const auto name = field(file, "model name", ':')) return Fact::of(*name);
  const auto implementer = field(file, "CPU implementer", ':');
  const auto part = field(file, "CPU part", ':');
  if (implementer && part)
    return Fact::of(fmt::format("implementer {} part {}", *implementer, *part));
  return Fact::absent("/proc/cpuinfo names no model");
}

Fact HostFiles::microcode() const {
  return Fact::of(field("proc/cpuinfo", "microcode", ':'), "/proc/cpuinfo has no microcode");
}

Fact HostFiles::kernel() const { return line_fact("proc/sys/kernel/osrelease"); }

Fact HostFiles::distribution() const {
  return Fact::of(field("etc/os-release", "PRETTY_NAME", '='), no_file("etc/os-release"));
}

Fact HostFiles::container() const {
  std::error_code ignored;
  if (fs::exists(root_ / ".dockerenv", ignored)) return Fact::of("docker");
  if (fs::exists(root_ / "run/.containerenv", ignored)) return Fact::of("podman");
  if (fs::exists(root_ / ".singularity.d", ignored)) return Fact::of("singularity");
  if (const auto manager = line("run/systemd/container")) return Fact::of(*manager);
  return Fact::of("none");
}

Fact HostFiles::memory_gib() const {
  const auto kib = leading_number(field("proc/meminfo", "MemTotal", ':'));
  if (!kib) return Fact::absent("no MemTotal in /proc/meminfo");
  return Fact::of(std::lround(*kib / 1048576.0));
}

Fact HostFiles::available_memory_gib() const { return gib_fact("MemAvailable"); }

Fact HostFiles::swap_used_gib() const {
  const Fact total = gib_fact("SwapTotal");
  const Fact unused = gib_fact("SwapFree");
  if (total.value.is_null()) return total;
  if (unused.value.is_null()) return unused;
  return Fact::of(std::round((total.value.get<double>() - unused.value.get<double>()) * 10) / 10);
}

Fact HostFiles::load_average() const {
  return Fact::of(leading_number(line("proc/loadavg")), no_file("proc/loadavg"));
}

Fact HostFiles::running_processes() const {
  std::error_code error;
  fs::directory_iterator entries(root_ / "proc", error);
  if (error) return Fact::absent("no /proc here");
  const std::string own = std::to_string(::getpid());
  int running = 0;
  for (const fs::directory_entry& entry : entries) {
    const std::string name = entry.path().filename().string();
    if (name == own || name.find_first_not_of("0123456789") != std::string::npos) continue;
    const auto status = line(fs::path("proc") / name / "stat");  // "12 (a (b) c) R 1 ..."
    if (!status) continue;
    const std::size_t close = status->rfind(')');
    if (close != std::string::npos && status->substr(close).starts_with(") R")) ++running;
  }
  return Fact::of(running);
}

Fact HostFiles::uptime_seconds() const {
  return Fact::of(leading_number(line("proc/uptime")), no_file("proc/uptime"));
}

Fact HostFiles::governor() const {
  std::error_code error;
  std::set<std::string> governors;
  const fs::path cpus = "sys/devices/system/cpu";
  for (const fs::directory_entry& entry : fs::directory_iterator(root_ / cpus, error)) {
    const auto one = line(cpus / entry.path().filename() / "cpufreq/scaling_governor");
    if (one) governors.insert(*one);
  }
  if (governors.empty()) return Fact::absent(kNoFrequencyControl);
  return Fact::of(fmt::format("{}", fmt::join(governors, ",")));
}

Fact HostFiles::turbo() const {
  const fs::path cpus = "sys/devices/system/cpu";
  if (const auto off = line(cpus / "intel_pstate/no_turbo")) return Fact::of(*off == "0");
  if (const auto on = line(cpus / "cpufreq/boost")) return Fact::of(*on == "1");
  return Fact::absent(kNoFrequencyControl);
}

Fact HostFiles::transparent_huge_pages() const {
  const fs::path file = "sys/kernel/mm/transparent_hugepage/enabled";
  const auto choices = line(file);  // "always [madvise] never"
  if (!choices) return Fact::absent(no_file(file));
  const std::size_t open = choices->find('[');
  const std::size_t close = choices->find(']');
  if (open == std::string::npos || close == std::string::npos || close < open) {
    return Fact::absent(fmt::format("/{} says '{}'", file.string(), *choices));
  }
  return Fact::of(choices->substr(open + 1, close - open - 1));
}

Fact HostFiles::address_randomization() const {
  const fs::path file = "proc/sys/kernel/randomize_va_space";
  const auto level = leading_number(line(file));
  return level ? Fact::of(std::lround(*level)) : Fact::absent(no_file(file));
}

Fact HostFiles::clock_source() const {
  return line_fact("sys/devices/system/clocksource/clocksource0/current_clocksource");
}

Fact HostFiles::isolated_cpus() const {
  const fs::path file = "sys/devices/system/cpu/isolated";
  const auto list = line(file);
  if (!list) return Fact::absent(no_file(file));
  return Fact::of(list->empty() ? "none" : *list);
}

Fact HostFiles::allowed_cpus() const {
  return Fact::of(field("proc/self/status", "Cpus_allowed_list", ':'), no_file("proc/self/status"));
}

}  // namespace scalebench
