// SPDX-License-Identifier: Apache-2.0
// One way to refuse a name: say what was given, what is valid, and which valid name is nearest.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace scalebench {

/// "unknown algorithm 'rnig'; valid: naive, ring, native (did you mean 'ring'?)". The guess is left
/// out when nothing is near.
std::string unknown_name(std::string_view kind, std::string_view given,
                         std::span<const std::string_view> valid);

/// The valid name with the smallest edit distance (at most a third of its length, rounded up),
/// or empty.
std::string_view nearest_name(std::string_view given, std::span<const std::string_view> valid);

}  // namespace scalebench
