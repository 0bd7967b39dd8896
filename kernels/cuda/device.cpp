// SPDX-License-Identifier: Apache-2.0
// device.hpp on the CUDA runtime. A machine without a driver or a card is no error here: it has
// zero devices and why_no_device() says why.
#include "kernels/device.hpp"

#include <cuda_runtime_api.h>
#include <nvtx3/nvToolsExt.h>

#include <string>
#include <utility>

#include "kernels/cuda/check.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

std::string version_text(int version) {
  return version == 0 ? "" : fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

/// Of a MIG slice its own and not the card's, which only the driver's second version of the call
/// promises.
cudaUUID_t uuid_of(int index) {
  cudaDeviceProp properties{};
  CUDA_CHECK(cudaGetDeviceProperties(&properties, index));
#if CUDART_VERSION >= 12050
  constexpr unsigned kSecondVersion = 11040;
  using Ask = int (*)(cudaUUID_t*, int device);
  void* entry = nullptr;
  cudaDriverEntryPointQueryResult found{};
  const cudaError_t status = cudaGetDriverEntryPointByVersion(
      "cuDeviceGetUuid", &entry, kSecondVersion, cudaEnableDefault, &found);
  cudaUUID_t uuid{};
  if (status != cudaSuccess) static_cast<void>(cudaGetLastError());
  const bool knows = status == cudaSuccess && found == cudaDriverEntryPointSuccess;
  if (knows && reinterpret_cast<Ask>(entry)(&uuid, index) == 0) return uuid;
#endif
  return properties.uuid;
}

cudaStream_t raw(DeviceStream stream) { return static_cast<cudaStream_t>(stream.handle); }

// NVTX 3 is headers alone: a profiler brings the rest into the process.

nvtxDomainHandle_t domain() {
  static const nvtxDomainHandle_t domain = nvtxDomainCreateA("scalebench");
  return domain;
}

}  // namespace

void cuda_failed(const char* expression, const char* file, int line, const char* library,
                 const char* message) {
  fail("{}:{}: {}: {}: {}", file, line, expression, library, message);
}

void too_many_arrays(std::size_t given, std::size_t most) {
  fail("combine: {} sources and destinations, and a device takes {} with CUDA {}", given, most,
       cuda_build_version());
}

int device_count() {
  int count = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess) return count;
  cudaGetLastError();  // or the next call would report this one
  return 0;
}

std::string why_no_device() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaSuccess) return count > 0 ? "" : "CUDA sees no device";
  cudaGetLastError();
  return fmt::format("no CUDA device: {}", cudaGetErrorString(status));
}

std::string device_name(int index) {
  cudaDeviceProp properties{};
  CUDA_CHECK(cudaGetDeviceProperties(&properties, index));
  return properties.name;
}

std::string device_uuid(int index) {
  const cudaUUID_t uuid = uuid_of(index);
  // Written as nvidia-smi writes it.
  std::string text = "GPU";
  for (int i = 0; i < 16; ++i) {
    const bool group = i == 0 || i == 4 || i == 6 || i == 8 || i == 10;
    const auto byte = static_cast<unsigned char>(uuid.bytes[i]);
    text += fmt::format("{}{:02x}", group ? "-" : "", byte);
  }
  return text;
}

void select_device(int index) { CUDA_CHECK(cudaSetDevice(index)); }

std::string cuda_build_version() { return version_text(CUDART_VERSION); }

std::string cuda_driver_version() {
  int version = 0;
  CUDA_CHECK(cudaDriverGetVersion(&version));
  return version_text(version);
}

void* device_allocate(std::size_t bytes) {
  void* pointer = nullptr;
  const cudaError_t status = cudaMalloc(&pointer, bytes);
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    std::size_t available = 0, total = 0;
    CUDA_CHECK(cudaMemGetInfo(&available, &total));
    fail("out of device memory: {} bytes asked for, {} available", bytes, available);
  }
  CUDA_CHECK(status);
  return pointer;
}

void device_free(void* pointer) noexcept { static_cast<void>(cudaFree(pointer)); }

void device_copy(const void* from, void* to, std::size_t bytes, DeviceStream stream) {
  CUDA_CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice,
                             static_cast<cudaStream_t>(stream.handle)));
}

void device_copy_done(const void* from, void* to, std::size_t bytes, DeviceStream stream) {
  CUDA_CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, raw(stream)));
  CUDA_CHECK(cudaStreamSynchronize(raw(stream)));
}

void device_zero(void* pointer, std::size_t bytes) {
  CUDA_CHECK(cudaMemset(pointer, 0, bytes));
  CUDA_CHECK(cudaStreamSynchronize(nullptr));
}

void device_synchronize() { CUDA_CHECK(cudaDeviceSynchronize()); }

OwnedStream::OwnedStream() {
  cudaStream_t stream = nullptr;
  CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  stream_.handle = stream;
}
OwnedStream::~OwnedStream() { static_cast<void>(cudaStreamDestroy(raw(stream_))); }
void OwnedStream::synchronize() const { CUDA_CHECK(cudaStreamSynchronize(raw(stream_))); }

DeviceEvent::DeviceEvent() {
  cudaEvent_t event = nullptr;
  CUDA_CHECK(cudaEventCreate(&event));
  handle_ = event;
}
DeviceEvent::~DeviceEvent() {
  static_cast<void>(cudaEventDestroy(static_cast<cudaEvent_t>(handle_)));
}
void DeviceEvent::record(DeviceStream stream) {
  CUDA_CHECK(cudaEventRecord(static_cast<cudaEvent_t>(handle_), raw(stream)));
}
void DeviceEvent::synchronize() const {
  CUDA_CHECK(cudaEventSynchronize(static_cast<cudaEvent_t>(handle_)));
}
void DeviceEvent::hold(DeviceStream stream) const {
  CUDA_CHECK(cudaStreamWaitEvent(raw(stream), static_cast<cudaEvent_t>(handle_), 0));
}
double DeviceEvent::seconds_since(const DeviceEvent& earlier) const {
  float milliseconds = 0;
  CUDA_CHECK(cudaEventElapsedTime(&milliseconds, static_cast<cudaEvent_t>(earlier.handle_),
                                  static_cast<cudaEvent_t>(handle_)));
  return static_cast<double>(milliseconds) * 1e-3;
}

DeviceGraph::~DeviceGraph() {
  if (captured_.handle != nullptr) {
    cudaGraph_t cut_short = nullptr;
    static_cast<void>(cudaStreamEndCapture(raw(captured_), &cut_short));
    if (cut_short != nullptr) static_cast<void>(cudaGraphDestroy(cut_short));
    cudaGetLastError();  // the capture may have been invalid
  }
  if (executable_ != nullptr) {
    static_cast<void>(cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(executable_)));
  }
}

void DeviceGraph::begin_capture(DeviceStream stream) {
  if (captured_.handle != nullptr) fail("device graph: a capture is under way");
  if (stream.handle == nullptr) fail("device graph: the default stream cannot be recorded");
  if (executable_ != nullptr) {
    CUDA_CHECK(cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(executable_)));
    executable_ = nullptr;
  }
  // Only this thread is held to what a capture allows: those of other ranks, or of NCCL, go on.
  CUDA_CHECK(cudaStreamBeginCapture(raw(stream), cudaStreamCaptureModeThreadLocal));
  captured_ = stream;
}

void DeviceGraph::end_capture() {
  if (captured_.handle == nullptr) fail("device graph: no capture is under way");
  cudaGraph_t recorded = nullptr;
  const DeviceStream stream = std::exchange(captured_, DeviceStream{});
  const cudaError_t ended = cudaStreamEndCapture(raw(stream), &recorded);
  if (ended != cudaSuccess) {
    cudaGetLastError();  // or the next kernel would report it
    fail("device graph: the work cannot be recorded: {}", cudaGetErrorString(ended));
  }
  cudaGraphExec_t executable = nullptr;
  const cudaError_t made = cudaGraphInstantiateWithFlags(&executable, recorded, 0);
  static_cast<void>(cudaGraphDestroy(recorded));
  if (made != cudaSuccess) {
    cudaGetLastError();
    fail("device graph: the work cannot be replayed: {}", cudaGetErrorString(made));
  }
  executable_ = executable;
}

void DeviceGraph::launch(DeviceStream stream) const {
  if (executable_ == nullptr) fail("device graph: nothing is recorded");
  CUDA_CHECK(cudaGraphLaunch(static_cast<cudaGraphExec_t>(executable_), raw(stream)));
}

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
