// SPDX-License-Identifier: Apache-2.0
// Asks another program a short question. Never hangs on it and never lets a shell see its
// arguments.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace scalebench {

struct CommandAnswer {
  bool answered = false;  // started, ended by itself, and with exit code 0
  std::string output;     // stdout and stderr together, at most 64 KiB; or why it did not start
};

/// Runs `command` with an empty stdin; it is killed once it says nothing for `patience_seconds`.
CommandAnswer ask(const std::vector<std::string>& command, int patience_seconds);

/// The executable file that `name` stands for: as it is when it has a '/', else the first on the
/// PATH.
std::optional<std::filesystem::path> find_program(std::string_view name);

}  // namespace scalebench
