// SPDX-License-Identifier: Apache-2.0
// What /proc, /sys and /etc tell of this machine. Each question gives a Fact: a kernel, container
// or virtual machine that hides the file makes it absent with that reason.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "bench/record/facts.hpp"

namespace scalebench {

class HostFiles {
 public:
  /// `root` is another folder than / in tests only.
  explicit HostFiles(std::filesystem::path root = "/") : root_(std::move(root)) {}

  Fact cpu_model() const;
  Fact microcode() const;
  Fact kernel() const;
  Fact distribution() const;
  Fact container() const;   // "docker", "podman", ... or "none"
  Fact memory_gib() const;  // installed, rounded to whole GiB
  Fact available_memory_gib() const;
  Fact swap_used_gib() const;
  Fact load_average() const;       // over the last minute
  Fact running_processes() const;  // runnable at this moment, without this one
  Fact uptime_seconds() const;
  Fact governor() const;                // of all cores; several are joined by commas
  Fact turbo() const;                   // true: on
  Fact transparent_huge_pages() const;  // "always", "madvise" or "never"
  Fact address_randomization() const;   // 0 off, 1 or 2 on
  Fact clock_source() const;
  Fact isolated_cpus() const;
  Fact allowed_cpus() const;  // as the kernel lists them: "0-3,8"

 private:
  std::optional<std::string> line(const std::filesystem::path& file) const;
  std::optional<std::string> field(const std::filesystem::path& file, std::string_view name,
                                   char separator) const;
  Fact line_fact(const std::filesystem::path& file) const;
  Fact gib_fact(std::string_view name) const;
  std::filesystem::path root_;
};

}  // namespace scalebench
