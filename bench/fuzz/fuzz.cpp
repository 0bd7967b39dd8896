// SPDX-License-Identifier: Apache-2.0
// libFuzzer's two entries. It brings the main, whose options are its own, so the reader is named by
// a variable: SCALEBENCH_FUZZ_READER=collectives fuzz CORPUS. Without one its names are printed.
#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "bench/fuzz/readers.hpp"
#include "kernels/error.hpp"

namespace {

const scalebench::Reader* chosen = nullptr;

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  const char* const name = std::getenv("SCALEBENCH_FUZZ_READER");
  if (name == nullptr) {
    for (const scalebench::Reader& reader : scalebench::readers()) fmt::print("{}\n", reader.name);
    std::exit(0);
  }
  try {
    chosen = &scalebench::reader_named(name);
  } catch (const scalebench::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    std::exit(2);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string fault = scalebench::fault_of(*chosen, bytes);
  if (fault.empty()) return 0;
  fmt::print(stderr, "{}: {}\n", chosen->name, fault);
  std::abort();  // the bytes are then kept as a file
}
