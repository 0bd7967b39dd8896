// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "collectives/control.hpp"
#include "collectives/transport/shared_segment.hpp"
#include "collectives/transport/transports.hpp"
#include "kernels/buffer.hpp"
#include "kernels/cuda/check.hpp"
#include "kernels/device.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

/// Messages from outside of windows go through a window of this size.
constexpr std::size_t kStagingBytes = std::size_t{4} << 20U;

/// CUDA packs smaller allocations into shared blocks, and a handle maps the whole block.
constexpr std::size_t kOwnAllocation = std::size_t{2} << 20U;

/// Names this process among all: two containers may both have a process 7.
std::uint64_t process_token() {
  static const std::uint64_t token = [] {
    std::random_device random;
    return (std::uint64_t{random()} << 32U) | random();
  }();
  return token;
}

/// What a rank tells its peers of a window.
struct Exported {
  std::uint64_t process;
  int device;
  std::byte* base;  // as addressed in that process
  cudaIpcMemHandle_t handle;
};

std::vector<Exported> all_gather(Communicator& control, const Exported& mine) {
  std::string bytes(sizeof mine, '\0');
  std::memcpy(bytes.data(), &mine, sizeof mine);
  std::vector<Exported> all;
  for (const std::string& theirs : all_gather(control, bytes)) {
    std::memcpy(&all.emplace_back(), theirs.data(), sizeof mine);
  }
  return all;
}

/// As CUDA_CHECK, but the failure is an expected one, which must not stick to this thread.
void require(cudaError_t status, const char* what, int rank) {
  if (status == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());
  fail("{} of rank {}: {}", what, rank, cudaGetErrorString(status));
}

/// Mappings of the same window of all ranks.
class PeerMappings {
 public:
  PeerMappings(const std::vector<Exported>& all, int rank) {
    const Exported& mine = all[static_cast<std::size_t>(rank)];
    try {
      for (int other = 0; other < static_cast<int>(all.size()); ++other) {
        const Exported& theirs = all[static_cast<std::size_t>(other)];
        const bool same_process = theirs.process == mine.process;
        if (same_process && theirs.device != mine.device) reach(theirs.device, other);
        base_of_rank_.push_back(same_process ? theirs.base : open(theirs.handle, other));
      }
    } catch (...) {
      close();
      throw;
    }
  }
  ~PeerMappings() { close(); }
  PeerMappings(const PeerMappings&) = delete;
  PeerMappings& operator=(const PeerMappings&) = delete;

  const std::vector<std::byte*>& base_of_rank() const { return base_of_rank_; }

 private:
  /// Another process' memory; on another card, access is enabled on the way.
  std::byte* open(const cudaIpcMemHandle_t& handle, int rank) {
    void* base = nullptr;
    require(cudaIpcOpenMemHandle(&base, handle, cudaIpcMemLazyEnablePeerAccess),
            "cannot map the device memory", rank);
    opened_.push_back(base);
    return static_cast<std::byte*>(base);
  }

  /// The process that exports a handle cannot open it: its threads use each other's addresses.
  static void reach(int device, int rank) {
    const cudaError_t status = cudaDeviceEnablePeerAccess(device, 0);
    if (status == cudaErrorPeerAccessAlreadyEnabled) {
      static_cast<void>(cudaGetLastError());
      return;
    }
    require(status, "cannot address the device", rank);
  }

  void close() noexcept {
    for (void* base : opened_) static_cast<void>(cudaIpcCloseMemHandle(base));
    opened_.clear();
  }

  std::vector<std::byte*> base_of_rank_;
  std::vector<void*> opened_;
};

bool are_several_processes(Communicator& control) {
  const std::vector<std::string> all = all_gather(control, std::to_string(process_token()));
  return std::ranges::adjacent_find(all, std::ranges::not_equal_to()) != all.end();
}

class CudaIpcCommunicator final : public Communicator {
 public:
  explicit CudaIpcCommunicator(Communicator& control)
      : Communicator(Memory::device),
        control_(control),
        several_processes_(are_several_processes(control)),
        rendezvous_(control),
        shared_(std::make_shared<Shared>(control)),
        staging_(CudaIpcCommunicator::window(kStagingBytes / sizeof(double), DType::float64)) {}

  // Before its windows go: who still waits for a message of this rank gets an error.
  ~CudaIpcCommunicator() override { rendezvous_.leave(); }

  int rank() const override { return control_.rank(); }
  int size() const override { return control_.size(); }
  Topology topology() const override { return control_.topology(); }
  std::string_view transport() const override { return "cuda_ipc"; }
  bool takes_any_thread() const override { return control_.takes_any_thread(); }
  DeviceStream stream() const override { return shared_->stream.get(); }

  /// The receiver copies, from the sender's window to its own memory. The sender's stream is
  /// synchronised before it offers, the receiver's before it says that it is done.
  void exchange(ConstSpan out, int to, Span in, int from) override {
    const auto place = out.empty() ? std::nullopt : shared_->windows.place(out);
    const auto offer = [&](std::size_t at) -> Piece {
      const std::size_t total = out.bytes();
      if (place) {
        wait();
        return {place->first, place->second, total, total};
      }
      const std::size_t bytes = std::min(staging_.span.bytes(), total - at);
      enqueue_copy(out.data + at, staging_.span.data, bytes);
      wait();
      return {shared_->windows.place(staging_.span)->first, 0, bytes, total};
    };
    const auto take = [&](const Piece& piece, std::size_t at) {
      const std::byte* base = shared_->windows.base(piece.window, from);
      if (base == nullptr) fail("rank {} sent from a window that rank {} let go", from, rank());
      enqueue_copy(base + piece.offset, in.data + at, piece.bytes);
      wait();
    };
    rendezvous_.exchange(out.bytes(), to, offer, in.bytes(), from, take);
  }

  Window window(std::size_t count, DType dtype) override {
    // What an exception left behind goes first: its memory may be needed.
    shared_->releases.collect();
    if (count == 0) return {Span{nullptr, 0, dtype, Memory::device}, nullptr};
    auto own = std::make_shared<Buffer>(allocate(count * size_of(dtype)));
    std::byte* base = own->span().data;
    auto mappings = map(base);
    shared_->windows.insert(mappings->base_of_rank(), rank(), own->bytes());
    // Moved all the way: what the deleter still held would be freed after the ranks have met.
    auto let_go = [shared = shared_, own = std::move(own),
                   mappings = std::move(mappings)](void* address) mutable {
      shared->windows.erase(static_cast<const std::byte*>(address));
      shared->releases.release(std::move(mappings), std::move(own));
    };
    return {Span{base, count, dtype, Memory::device},
            std::shared_ptr<void>(base, std::move(let_go))};
  }

  std::optional<Span> peer(Span mine, int rank) override {
    if (rank == this->rank()) return mine;
    return shared_->windows.find(mine, rank);
  }

  void wait() override { shared_->stream.synchronize(); }

  void barrier() override {
    wait();
    control_.barrier();
  }

 private:
  /// What windows need when they are let go; the last ones outlive this object as scratch of its
  /// base.
  struct Shared {
    explicit Shared(Communicator& control) : releases(control, [this] { stream.synchronize(); }) {}
    OwnedStream stream;
    WindowTable windows;
    ReleaseTogether releases;
  };

  void enqueue_copy(const std::byte* from, std::byte* to, std::size_t bytes) const {
    CUDA_CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault,
                               static_cast<cudaStream_t>(stream().handle)));
  }

  /// Collective: zeroed device memory in an allocation of its own.
  Buffer allocate(std::size_t bytes) const {
    const std::size_t rounded = (bytes + kOwnAllocation - 1) / kOwnAllocation * kOwnAllocation;
    Buffer own;
    throw_together<Error>(control_, "transport cuda_ipc", problem_of([&] {
                            own = Buffer(rounded / sizeof(double), DType::float64, Memory::device);
                          }));
    return own;
  }

  /// Collective: where this rank finds the memory of all. `base` is this rank's own.
  std::shared_ptr<PeerMappings> map(std::byte* base) const {
    Exported mine{process_token(), 0, base, {}};
    throw_together<Unavailable>(control_, "transport cuda_ipc", problem_of([&] {
                                  CUDA_CHECK(cudaGetDevice(&mine.device));
                                  // Among threads no handle is opened, and some systems have none
                                  // to give.
                                  if (several_processes_) {
                                    require(cudaIpcGetMemHandle(&mine.handle, base),
                                            "cannot export the device memory", rank());
                                  }
                                }));
    const std::vector<Exported> all = all_gather(control_, mine);
    std::shared_ptr<PeerMappings> mappings;
    const std::string common = common_problem(
        control_, problem_of([&] { mappings = std::make_shared<PeerMappings>(all, rank()); }));
    if (!common.empty()) {
      mappings.reset();
      control_.barrier();  // before anyone frees what another has mapped
      fail<Unavailable>("transport cuda_ipc: {}", common);
    }
    return mappings;
  }

  Communicator& control_;
  const bool several_processes_;
  Rendezvous rendezvous_;
  std::shared_ptr<Shared> shared_;
  Window staging_;
};

std::string why_not(Communicator& control) {
  if (device_count() == 0) return why_no_device();
  const int hosts = control.topology().nodes();
  return hosts > 1 ? fmt::format("ranks are on {} hosts", hosts) : "";
}

}  // namespace

std::unique_ptr<Communicator> make_cuda_ipc_communicator(Communicator& control) {
  throw_together<Unavailable>(control, "transport cuda_ipc", why_not(control));
  return std::make_unique<CudaIpcCommunicator>(control);
}

}  // namespace scalebench
