// SPDX-License-Identifier: Apache-2.0
#include "collectives/nccl_communicator.hpp"

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "collectives/control.hpp"
#include "collectives/scratch_buffer.hpp"
#include "kernels/add.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

void throw_unless_success(ncclResult_t result, const char* expression, const char* file, int line) {
  // With a nonblocking communicator "in progress" is no error; ours are blocking.
  if (result == ncclSuccess) return;
  fail("{}:{}: {}: {} ({})", file, line, expression, ncclGetErrorString(result),
       ncclGetLastError(nullptr));
}
#define NCCL_CHECK(call) throw_unless_success((call), #call, __FILE__, __LINE__)

ncclDataType_t nccl_type_of(DType dtype) {
  switch (dtype) {
    case DType::float64:
      return ncclDouble;
    case DType::int32:
      return ncclInt32;
    case DType::float16:
      return ncclHalf;
    case DType::bfloat16:
      return ncclBfloat16;
    case DType::float32:
      break;
  }
  return ncclFloat;
}

class NcclCommunicator final : public Communicator {
 public:
  explicit NcclCommunicator(Communicator& control) : control_(control) {
    require_distinct_devices();
    ncclUniqueId id{};
    if (rank() == 0) NCCL_CHECK(ncclGetUniqueId(&id));
    broadcast_bytes(control_, std::as_writable_bytes(std::span(&id, 1)), 0);
    NCCL_CHECK(ncclCommInitRank(&communicator_, size(), id, rank()));
  }
  ~NcclCommunicator() override { ncclCommDestroy(communicator_); }
  NcclCommunicator(const NcclCommunicator&) = delete;
  NcclCommunicator& operator=(const NcclCommunicator&) = delete;

  int rank() const override { return control_.rank(); }
  int size() const override { return control_.size(); }
  Topology topology() const override { return control_.topology(); }
  std::string_view transport() const override { return "nccl"; }
  Memory memory() const override { return Memory::device; }

  void exchange(ConstSpan out, int to, Span in, int from) override {
    NCCL_CHECK(ncclGroupStart());
    if (!out.empty()) {
      NCCL_CHECK(ncclSend(out.data, out.bytes(), ncclInt8, to, communicator_, stream()));
    }
    if (!in.empty()) {
      NCCL_CHECK(ncclRecv(in.data, in.bytes(), ncclInt8, from, communicator_, stream()));
    }
    NCCL_CHECK(ncclGroupEnd());
  }

  void add(Span into, ConstSpan from) override { scalebench::add(into, from, stream_.get()); }
  Span scratch(std::size_t count, DType dtype) override { return scratch_.get(count, dtype); }

  void wait() override {
    // A peer that died leaves the stream stuck for ever: NCCL reports that beside the stream.
    while (true) {
      const cudaError_t state = cudaStreamQuery(stream());
      if (state == cudaSuccess) return;
      if (state != cudaErrorNotReady) fail("nccl stream: {}", cudaGetErrorString(state));
      ncclResult_t asynchronous = ncclSuccess;
      NCCL_CHECK(ncclCommGetAsyncError(communicator_, &asynchronous));
      if (asynchronous != ncclSuccess && asynchronous != ncclInProgress) {
        ncclCommAbort(communicator_);
        fail("nccl: {}", ncclGetErrorString(asynchronous));
      }
    }
  }

  void barrier() override {
    wait();
    control_.barrier();
  }

  bool native_allreduce(Span data) override {
    NCCL_CHECK(ncclAllReduce(data.data, data.data, data.count, nccl_type_of(data.dtype), ncclSum,
                             communicator_, stream()));
    return true;
  }

 private:
  cudaStream_t stream() const { return static_cast<cudaStream_t>(stream_.get().handle); }

  void require_distinct_devices() const {
    int device = 0;
    if (cudaGetDevice(&device) != cudaSuccess) fail<Unavailable>("nccl: {}", why_no_device());
    std::vector<std::string> uuids = all_gather(control_, device_uuid(device));
    std::ranges::sort(uuids);
    const auto twice = std::ranges::adjacent_find(uuids);
    if (twice != uuids.end()) {
      fail<Unavailable>(
          "transport nccl: two ranks share the device {}, which NCCL refuses; start one "
          "rank per device",
          *twice);
    }
  }

  Communicator& control_;
  ncclComm_t communicator_ = nullptr;
  OwnedStream stream_;
  ScratchBuffer scratch_{Memory::device};
};

}  // namespace

std::unique_ptr<Communicator> make_nccl_communicator(Communicator& control) {
  if (device_count() == 0) fail<Unavailable>("transport nccl: {}", why_no_device());
  return std::make_unique<NcclCommunicator>(control);
}

std::string nccl_version() {
  int version = 0;
  if (ncclGetVersion(&version) != ncclSuccess) return {};
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

}  // namespace scalebench
