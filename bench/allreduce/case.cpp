// SPDX-License-Identifier: Apache-2.0
#include "bench/allreduce/case.hpp"

#include <fmt/format.h>

namespace scalebench {

std::string canonical(const AllreduceCase& one, std::string_view transport, Memory memory,
                      const AllreduceMethod& method) {
  return fmt::format(
      "allreduce algorithm={} transport={} memory={} dtype={} op={} placement={} mode={} cache={} "
      "graph={} count={}",
      one.algorithm->name, transport, name_of(memory), name_of(one.dtype), name_of(one.op),
      one.placement(), one.mode(), name_of(method.cache), method.graph ? 1 : 0, one.count);
}

std::string_view name_of(Memory memory) { return memory == Memory::host ? "host" : "device"; }

}  // namespace scalebench
