// SPDX-License-Identifier: Apache-2.0
// This host as the others of a meeting need to know it.
#pragma once

#include <string>
#include <string_view>

namespace scalebench {

std::string own_host_name();

/// Cores that this process may use.
int own_cores();

/// Gives this process, and what it will start, every core that its container has.
void use_all_cores();

/// A name that mpirun leaves as it is: without domain, of letters, digits and '-' alone; addresses
/// of IPv4 stay.
std::string plain_host_name(std::string_view name);

}  // namespace scalebench
