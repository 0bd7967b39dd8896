// SPDX-License-Identifier: Apache-2.0
// What in an environment will spoil numbers, and what to do about it.
#pragma once

#include <string>
#include <vector>

#include "bench/machine/environment.hpp"

namespace scalebench {

struct Warning {
  std::string text;    // one terminal line
  std::string remedy;  // what to do, imperative; one terminal line
};

/// Worst first. `cores_asked` is ranks on this host times threads of each; 0 leaves that question
/// out. A fact that is absent gives no warning.
std::vector<Warning> warnings(const Environment& environment, int cores_asked = 0);

}  // namespace scalebench
