// SPDX-License-Identifier: Apache-2.0
// Text from outside (names, notes of other programs' files) on a terminal: what would steer it or
// turn the reading direction is spelled out instead of being sent.
#pragma once

#include <string>
#include <string_view>

namespace scalebench {

/// `text` with control characters as \x1b and marks of reading direction as \u202e.
std::string printable(std::string_view text);

}  // namespace scalebench
