// SPDX-License-Identifier: Apache-2.0
// Sizes in bytes as people type them. The rule: a whole number, alone or with K M G T (binary, as
// in nccl-tests) or KiB MiB GiB TiB (binary), or in scientific notation (1e6, decimal). MB and the
// like mean two things and are refused.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace scalebench {

inline constexpr std::string_view kSizeRule =
    "bytes as 8, 64K, 64KiB, 1M, 1GiB (binary) or 1e6 (decimal)";

/// Throws UsageError, naming `option`, for anything else, negative numbers, and above 2^62.
std::size_t parse_size(std::string_view option, std::string_view text);

/// "8", "64 KiB", "1 MiB": exact, with the largest binary unit that divides it.
std::string show_size(std::size_t bytes);

}  // namespace scalebench
