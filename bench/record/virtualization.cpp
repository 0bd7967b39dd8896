// SPDX-License-Identifier: Apache-2.0
#include "bench/record/virtualization.hpp"

#ifdef __x86_64__
#include <cpuid.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <utility>
#endif

namespace scalebench {

#ifdef __x86_64__
Fact virtualization() {
  constexpr unsigned kHypervisorBit = 1U << 31U;
  constexpr unsigned kHypervisorLeaf = 0x40000000U;
  std::array<unsigned, 4> registers{};
  auto& [a, b, c, d] = registers;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & kHypervisorBit) == 0) return Fact::of("none");
  __cpuid(kHypervisorLeaf, a, b, c, d);
  std::string name(12, '\0');
  std::memcpy(name.data(), &registers[1], name.size());
  name.erase(std::find(name.begin(), name.end(), '\0'), name.end());
  constexpr std::array<std::pair<std::string_view, const char*>, 5> kKnown{{
      {"KVMKVMKVM", "kvm"},
      {"Microsoft Hv", "hyperv"},
      {"VMwareVMware", "vmware"},
      {"XenVMMXenVMM", "xen"},
      {"TCGTCGTCGTCG", "qemu"},
  }};
  for (const auto& [signature, known] : kKnown) {
    if (name == signature) return Fact::of(known);
  }
  return Fact::of(name.empty() ? "a hypervisor without a name" : name);
}
#else
Fact virtualization() { return Fact::absent("this processor has no instruction that tells"); }
#endif

}  // namespace scalebench
