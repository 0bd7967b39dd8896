// SPDX-License-Identifier: Apache-2.0
// The name of a case in every file: two rows with equal ids differ in nothing but N.
#pragma once

#include <string>
#include <string_view>

namespace scalebench {

/// First 12 hex digits of the SHA-256 of the canonical parameters, which leave the number of ranks
/// out. 48 bits: two of 10 000 different cases share an id with probability 2e-7.
std::string case_id(std::string_view canonical_parameters);

}  // namespace scalebench
