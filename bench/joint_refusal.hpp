// SPDX-License-Identifier: Apache-2.0
// What the user asked for is not valid, and all ranks have found that out together.
#pragma once

#include "kernels/error.hpp"

namespace scalebench {

/// Thrown by every rank at the same place: one of them says it, and they end without an abort,
/// whose own lines would bury it.
class JointRefusal : public UsageError {
 public:
  using UsageError::UsageError;
};

}  // namespace scalebench
