// SPDX-License-Identifier: Apache-2.0
// A program's manual page (man(7) macros, ASCII) from its option table.
#pragma once

#include <string>

#include "bench/cli/option_table.hpp"

namespace scalebench {

std::string man_page(const CommandEntry& program);

}  // namespace scalebench
