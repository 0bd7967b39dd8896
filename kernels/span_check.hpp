// SPDX-License-Identifier: Apache-2.0
// What every kernel asks of its spans before it touches them. A wrong span is a mistake in the
// calling code, so that these throw Error, with both spans described.
#pragma once

#include <string>
#include <string_view>

#include "kernels/span.hpp"

namespace scalebench {

/// "1000 x half on the host".
std::string describe(ConstSpan span);

/// Equal counts and memories, and either the very same elements or none in common.
void require_same_count(std::string_view kernel, ConstSpan a, ConstSpan b);

/// As require_same_count, and equal dtypes.
void require_alike(std::string_view kernel, ConstSpan a, ConstSpan b);

/// Equal memories, and no byte in common.
void require_apart(std::string_view kernel, ConstSpan a, ConstSpan b);

}  // namespace scalebench
