// SPDX-License-Identifier: Apache-2.0
#include "bench/record/emulation.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "bench/record/utf8.hpp"

namespace scalebench {

std::string declared_emulation() {
  const char* const text = std::getenv(kEmulatedVariable);
  return text == nullptr ? "" : valid_utf8(text);
}

std::string emulation_line() {
  const std::string what = declared_emulation();
  return what.empty() ? "" : fmt::format("# EMULATED: {}\n", what);
}

std::string timed_origin(bool crowded) {
  return crowded || !declared_emulation().empty() ? "emulated" : "measured";
}

}  // namespace scalebench
