// SPDX-License-Identifier: Apache-2.0
// A line that must not be lost although the job ends with it: launchers drop what they have not
// read when they are told to abort.
#pragma once

#include <string_view>

namespace scalebench {

/// Writes the line to stderr in one piece, and returns when the launcher has taken it and had a
/// moment to forward it; at most a second later.
void say_last(std::string_view line);

}  // namespace scalebench
