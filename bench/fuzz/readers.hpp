// SPDX-License-Identifier: Apache-2.0
// Everything that reads bytes from outside (files, variables, command lines, messages), each as a
// function of bytes alone. A reader may return, or refuse by throwing Error; whatever else comes
// out of it is a fault. libFuzzer (scripts/fuzz) and a plain test beside this file run them all.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace scalebench {

struct Reader {
  std::string_view name;   // and that of its folder in corpus/
  std::string_view reads;  // what the bytes are
  void (*read)(std::string_view bytes);
};

std::span<const Reader> readers();

/// Throws UsageError with the valid names.
const Reader& reader_named(std::string_view name);

/// What came out of the reader that is neither a return nor a refusal with a reason; empty: nothing
/// did.
std::string fault_of(const Reader& reader, std::string_view bytes);

}  // namespace scalebench
