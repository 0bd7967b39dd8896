// SPDX-License-Identifier: Apache-2.0
// A number of a result row as a person reads it.
#pragma once

#include <fmt/format.h>

#include <string>

namespace scalebench {

/// The cell times `factor` with `digits` decimals; "-" for an empty cell.
inline std::string scaled(const std::string& cell, double factor, int digits) {
  return cell.empty() ? "-" : fmt::format("{:.{}f}", std::stod(cell) * factor, digits);
}

}  // namespace scalebench
