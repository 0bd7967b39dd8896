// SPDX-License-Identifier: Apache-2.0
// Whether the machine is a guest, and of what.
#pragma once

#include "bench/record/facts.hpp"

namespace scalebench {

/// "none", "kvm", "vmware", ...; absent where the processor has no way to ask.
Fact virtualization();

}  // namespace scalebench
