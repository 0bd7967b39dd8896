// SPDX-License-Identifier: Apache-2.0
// Whether what is timed here is what it seems to be: ranks may share a core, and hosts may be
// namespaces of one machine, which whoever made them declares in SCALEBENCH_EMULATED.
#pragma once

#include <string>

namespace scalebench {

/// What is emulated, in words; ranks inherit it from whoever starts them.
inline constexpr const char* kEmulatedVariable = "SCALEBENCH_EMULATED";

/// What SCALEBENCH_EMULATED declares, such as "4 hosts in network namespaces, 1gbit"; empty:
/// nothing.
std::string declared_emulation();

/// The same as a line of comment above a table; empty where nothing is declared.
std::string emulation_line();

/// The origin of what is timed here: "emulated" where something is declared, or where ranks are
/// `crowded` on cores or devices; else "measured".
std::string timed_origin(bool crowded);

}  // namespace scalebench
