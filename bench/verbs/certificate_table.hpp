// SPDX-License-Identifier: Apache-2.0
// A certificate for the terminal: a line for each cell, the two numbers that count, the verdict.
#pragma once

#include <string>

#include "bench/study/certificate.hpp"

namespace scalebench {

/// `failed_launches`: those that ended without a result; with any, nothing is certified.
std::string certificate_table(const Certificate& certificate, std::size_t failed_launches);

}  // namespace scalebench
