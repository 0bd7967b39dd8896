// SPDX-License-Identifier: Apache-2.0
#include "collectives/nccl_communicator.hpp"

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "collectives/control.hpp"
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

ncclRedOp_t nccl_op_of(ReduceOp op) {
  switch (op) {
    case ReduceOp::prod:
      return ncclProd;
    case ReduceOp::min:
      return ncclMin;
    case ReduceOp::max:
      return ncclMax;
    case ReduceOp::avg:
      return ncclAvg;
    case ReduceOp::sum:
      break;
  }
  return ncclSum;
}

class NcclCommunicator final : public Communicator {
 public:
  explicit NcclCommunicator(Communicator& control)
      : Communicator(Memory::device), control_(control) {
    require_distinct_devices();
    ncclUniqueId id{};
    if (rank() == 0) NCCL_CHECK(ncclGetUniqueId(&id));
    broadcast_bytes(control_, std::as_writable_bytes(std::span(&id, 1)), 0);
    NCCL_CHECK(ncclCommInitRank(&communicator_, size(), id, rank()));
  }
  ~NcclCommunicator() override { ncclCommDestroy(communicator_); }

  int rank() const override { return control_.rank(); }
  int size() const override { return control_.size(); }
  Topology topology() const override { return control_.topology(); }
  std::string_view transport() const override { return "nccl"; }

  void exchange(ConstSpan out, int to, Span in, int from) override {
    NCCL_CHECK(ncclGroupStart());
    if (!out.empty()) {
      NCCL_CHECK(ncclSend(out.data, out.bytes(), ncclInt8, to, communicator_, handle()));
    }
    if (!in.empty()) {
      NCCL_CHECK(ncclRecv(in.data, in.bytes(), ncclInt8, from, communicator_, handle()));
    }
    NCCL_CHECK(ncclGroupEnd());
  }

  void wait() override {
    // A peer that died leaves the stream stuck for ever: NCCL reports that beside the stream.
    while (true) {
      const cudaError_t state = cudaStreamQuery(handle());
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

  bool native_allreduce(ConstSpan in, Span out, ReduceOp op) override {
    NCCL_CHECK(ncclAllReduce(in.data, out.data, out.count, nccl_type_of(out.dtype), nccl_op_of(op),
                             communicator_, handle()));
    return true;
  }

  DeviceStream stream() const override { return stream_.get(); }

 private:
  cudaStream_t handle() const { return static_cast<cudaStream_t>(stream_.get().handle); }

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
