// SPDX-License-Identifier: Apache-2.0
#include "kernels/span_check.hpp"

#include <functional>

#include "kernels/error.hpp"

namespace scalebench {
namespace {

bool overlap(ConstSpan a, ConstSpan b) {
  if (a.empty() || b.empty()) return false;
  // std::less orders pointers into different arrays; the built-in < does not promise to.
  const std::less<const std::byte*> before;
  return before(a.data, b.data + b.bytes()) && before(b.data, a.data + a.bytes());
}

}  // namespace

std::string describe(ConstSpan span) {
  return fmt::format("{} x {} on the {}", span.count, name_of(span.dtype),
                     span.memory == Memory::host ? "host" : "device");
}

void require_same_count(std::string_view kernel, ConstSpan a, ConstSpan b) {
  if (a.count != b.count || a.memory != b.memory) {
    fail("{}: spans differ: {} and {}", kernel, describe(a), describe(b));
  }
  const bool same = a.data == b.data && a.dtype == b.dtype;
  if (!same && overlap(a, b)) {
    fail("{}: spans overlap in part: {} and {}", kernel, describe(a), describe(b));
  }
}

void require_alike(std::string_view kernel, ConstSpan a, ConstSpan b) {
  if (a.dtype != b.dtype) fail("{}: spans differ: {} and {}", kernel, describe(a), describe(b));
  require_same_count(kernel, a, b);
}

void require_apart(std::string_view kernel, ConstSpan a, ConstSpan b) {
  if (a.memory != b.memory) fail("{}: spans differ: {} and {}", kernel, describe(a), describe(b));
  if (overlap(a, b)) fail("{}: spans overlap: {} and {}", kernel, describe(a), describe(b));
}

}  // namespace scalebench
