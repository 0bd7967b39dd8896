// SPDX-License-Identifier: Apache-2.0
// The other half of device.hpp and device_kernels.hpp: a build without CUDA. Zero devices, and
// whoever asks for one all the same is told why.
#include <string>

#include "kernels/device.hpp"
#include "kernels/device_kernels.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

constexpr const char* kWhy =
    "this build has no CUDA (configured with SCALEBENCH_CUDA=OFF, or without nvcc or NCCL)";

[[noreturn]] void refuse() { throw Unavailable(kWhy); }

}  // namespace

int device_count() { return 0; }
std::string why_no_device() { return kWhy; }
std::string device_name(int) { refuse(); }
std::string device_uuid(int) { refuse(); }
void select_device(int) { refuse(); }
std::string cuda_build_version() { return {}; }
std::string cuda_driver_version() { return {}; }
void* device_allocate(std::size_t) { refuse(); }
void device_free(void*) noexcept {}
void device_copy(const void*, void*, std::size_t, DeviceStream) { refuse(); }
void device_copy_done(const void*, void*, std::size_t, DeviceStream) { refuse(); }
void device_zero(void*, std::size_t) { refuse(); }
void device_synchronize() { refuse(); }

ProfilerRange::ProfilerRange(const char*) {}
ProfilerRange::~ProfilerRange() = default;

OwnedStream::OwnedStream() { refuse(); }
OwnedStream::~OwnedStream() = default;
void OwnedStream::synchronize() const { refuse(); }

DeviceEvent::DeviceEvent() : handle_(nullptr) { refuse(); }
DeviceEvent::~DeviceEvent() = default;
void DeviceEvent::record(DeviceStream) { refuse(); }
void DeviceEvent::synchronize() const { refuse(); }
void DeviceEvent::hold(DeviceStream) const { refuse(); }
double DeviceEvent::seconds_since(const DeviceEvent&) const { refuse(); }

DeviceGraph::~DeviceGraph() = default;
void DeviceGraph::begin_capture(DeviceStream) { refuse(); }
void DeviceGraph::end_capture() { refuse(); }
void DeviceGraph::launch(DeviceStream) const { refuse(); }

void sgd_update(std::span<const UpdatePart>, float, const double*, DeviceStream) { refuse(); }
void adam_update(std::span<const UpdatePart>, const AdamStep&, const double*, AdamProgress*,
                 DeviceStream) {
  refuse();
}

namespace device {

void combine(std::span<const ConstSpan>, std::span<const Span>, ReduceOp, DeviceStream) {
  refuse();
}
void scale(Span, double, DeviceStream) { refuse(); }
void cast(ConstSpan, Span, DeviceStream) { refuse(); }
void pack(std::span<const ConstSpan>, Span, DeviceStream) { refuse(); }
void unpack(ConstSpan, std::span<const Span>, DeviceStream) { refuse(); }
void stream_copy(ConstSpan, Span, DeviceStream) { refuse(); }
void stream_triad(Span, ConstSpan, ConstSpan, double, DeviceStream) { refuse(); }
void gemm(ConstSpan, ConstSpan, Span, std::size_t, std::size_t, std::size_t, DeviceStream,
          GemmMath) {
  refuse();
}

}  // namespace device
}  // namespace scalebench
