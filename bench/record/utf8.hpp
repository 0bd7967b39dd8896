// SPDX-License-Identifier: Apache-2.0
// Text from outside (program output, environment) made safe for files that promise UTF-8.
#pragma once

#include <string>
#include <string_view>

namespace scalebench {

/// `text` with each byte that is not part of a well-formed UTF-8 sequence replaced by U+FFFD.
std::string valid_utf8(std::string_view text);

}  // namespace scalebench
