// SPDX-License-Identifier: Apache-2.0
#include "bench/record/case_id.hpp"

#include "bench/record/sha256.hpp"

namespace scalebench {

std::string case_id(std::string_view canonical_parameters) {
  return sha256_of(canonical_parameters).substr(0, 12);
}

}  // namespace scalebench
