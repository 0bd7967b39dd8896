// SPDX-License-Identifier: Apache-2.0
// NVTX 3 is headers alone: a profiler brings the rest into the process.
#include <nvtx3/nvToolsExt.h>

#include "kernels/profiler_range.hpp"

namespace scalebench {
namespace {

nvtxDomainHandle_t domain() {
  static const nvtxDomainHandle_t domain = nvtxDomainCreateA("scalebench");
  return domain;
}

}  // namespace

ProfilerRange::ProfilerRange(const char* name) {
  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
  attributes.message.ascii = name;
  nvtxDomainRangePushEx(domain(), &attributes);
}

ProfilerRange::~ProfilerRange() { nvtxDomainRangePop(domain()); }

}  // namespace scalebench
