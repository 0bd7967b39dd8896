// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "collectives/control.hpp"
#include "collectives/transport/shared_segment.hpp"
#include "collectives/transport/stream_order.hpp"
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

// The events of stream_order.hpp.

struct DestroyEvent {
  void operator()(cudaEvent_t event) const { static_cast<void>(cudaEventDestroy(event)); }
};
using Event = std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, DestroyEvent>;

constexpr std::size_t kMarks = 2;

/// What a rank tells another of one event.
struct ExportedEvent {
  std::uint64_t process;
  cudaEvent_t event;  // as named in that process
  cudaIpcEventHandle_t handle;
};

/// This rank's events, two for each rank.
class OwnEvents {
 public:
  OwnEvents(int ranks, bool several_processes, int rank) {
    const unsigned flags =
        cudaEventDisableTiming | (several_processes ? cudaEventInterprocess : 0U);
    for (std::size_t i = 0; i < static_cast<std::size_t>(ranks) * kMarks; ++i) {
      cudaEvent_t event = nullptr;
      require(cudaEventCreateWithFlags(&event, flags), "cannot make an event", rank);
      events_.emplace_back(event);
      ExportedEvent& exported = exported_.emplace_back(ExportedEvent{process_token(), event, {}});
      if (several_processes) {
        require(cudaIpcGetEventHandle(&exported.handle, event), "cannot export the event", rank);
      }
    }
  }

  cudaEvent_t at(Mark mark, int for_rank) const { return events_[index(mark, for_rank)].get(); }
  /// By rank and mark.
  const std::vector<ExportedEvent>& exported() const { return exported_; }
  static std::size_t index(Mark mark, int for_rank) {
    return static_cast<std::size_t>(for_rank) * kMarks + static_cast<std::size_t>(mark);
  }

 private:
  std::vector<Event> events_;
  std::vector<ExportedEvent> exported_;
};

/// What the other ranks record for this one.
class EventsOfPeers {
 public:
  /// `all`: as every rank's exported(), one after the other.
  EventsOfPeers(const std::vector<ExportedEvent>& all, int ranks, int rank) {
    const std::size_t of_a_rank = static_cast<std::size_t>(ranks) * kMarks;
    for (int other = 0; other < ranks; ++other) {
      for (const Mark mark : {Mark::ready, Mark::taken}) {
        const ExportedEvent& theirs =
            all[static_cast<std::size_t>(other) * of_a_rank + OwnEvents::index(mark, rank)];
        cudaEvent_t event = theirs.event;
        if (theirs.process != process_token()) {
          require(cudaIpcOpenEventHandle(&event, theirs.handle), "cannot open the event", other);
          opened_.emplace_back(event);
        }
        events_.push_back(event);
      }
    }
  }

  cudaEvent_t at(Mark mark, int of_rank) const { return events_[OwnEvents::index(mark, of_rank)]; }

 private:
  std::vector<cudaEvent_t> events_;
  std::vector<Event> opened_;
};

/// Both, on the stream that records and waits.
struct PairEvents {
  cudaStream_t stream;
  std::shared_ptr<OwnEvents> own;
  std::shared_ptr<EventsOfPeers> of_peers;

  void record(Mark mark, int for_rank) const {
    CUDA_CHECK(cudaEventRecord(own->at(mark, for_rank), stream));
  }
  void wait_for(Mark mark, int of_rank) const {
    CUDA_CHECK(cudaStreamWaitEvent(stream, of_peers->at(mark, of_rank), 0));
  }
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
        staging_(CudaIpcCommunicator::window(kStagingBytes / sizeof(double), DType::float64)) {
    make_events();
    check();
  }

  // Before its windows go: who still waits for a message of this rank gets an error.
  ~CudaIpcCommunicator() override { rendezvous_.leave(); }

  int rank() const override { return control_.rank(); }
  int size() const override { return control_.size(); }
  Topology topology() const override { return control_.topology(); }
  std::string_view transport() const override { return "cuda_ipc"; }
  DeviceStream stream() const override { return shared_->stream.get(); }

  /// The receiver copies or combines, from the sender's window.
  void exchange(ConstSpan out, int to, Span in, int from) override {
    meet(out, to, in.bytes(), from,
         [&](const std::byte* theirs, std::size_t at, std::size_t bytes) {
           enqueue_copy(theirs, in.data + at, bytes);
         });
  }

  void exchange_reduce(ConstSpan out, int to, ConstSpan own, Span into, int from,
                       ReduceOp op) override {
    meet(out, to, into.bytes(), from,
         [&](const std::byte* theirs, std::size_t at, std::size_t bytes) {
           const std::size_t first = at / size_of(into.dtype), count = bytes / size_of(into.dtype);
           reduce(own.part(first, count), ConstSpan{theirs, count, into.dtype, into.memory},
                  into.part(first, count), op);
         });
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

  void wait() override {
    const CallMarks::Call call(marks());
    shared_->stream.synchronize();
  }

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

  /// An exchange, of whose incoming message receive(theirs, at, bytes) enqueues what becomes of the
  /// bytes from `at` on, which the sender has at `theirs`.
  template <class Receive>
  void meet(ConstSpan out, int to, std::size_t in_bytes, int from, const Receive& receive) {
    const CallMarks::Call call(marks(), std::max(out.bytes(), in_bytes));
    const auto place = out.empty() ? std::nullopt : shared_->windows.place(out);
    const auto offer = [&](std::size_t at) -> Piece {
      Piece piece{.window = 0, .offset = 0, .bytes = out.bytes(), .message_bytes = out.bytes()};
      if (place) {
        std::tie(piece.window, piece.offset) = *place;
      } else {
        piece.window = staging_number();
        piece.bytes = std::min(staging_.span.bytes(), out.bytes() - at);
        enqueue_copy(out.data + at, staging_.span.data, piece.bytes);
      }
      return piece;
    };
    const auto take = [&](const Piece& piece, std::size_t at) {
      const std::byte* base = shared_->windows.base(piece.window, from);
      if (base == nullptr) fail("rank {} sent from a window that rank {} let go", from, rank());
      receive(base + piece.offset, at, piece.bytes);
    };
    exchange_on_streams(rendezvous_, *events_, out.bytes(), to, offer, in_bytes, from, take);
  }

  cudaStream_t raw_stream() const { return static_cast<cudaStream_t>(stream().handle); }
  std::uint64_t staging_number() const { return shared_->windows.place(staging_.span)->first; }

  /// Collective.
  void make_events() {
    // Nothing may be done to an event once its owner has destroyed it.
    events_ = std::shared_ptr<PairEvents>(
        new PairEvents{raw_stream(), nullptr, nullptr}, [shared = shared_](PairEvents* events) {
          shared->releases.release(std::move(events->of_peers), std::move(events->own));
          delete events;
        });
    const int ranks = size();
    throw_together<Unavailable>(control_, "transport cuda_ipc", problem_of([&] {
                                  events_->own = std::make_shared<OwnEvents>(
                                      ranks, several_processes_, rank());
                                }));
    const std::vector<ExportedEvent> all = all_gather_as_is(control_, events_->own->exported());
    throw_together<Unavailable>(control_, "transport cuda_ipc", problem_of([&] {
                                  events_->of_peers =
                                      std::make_shared<EventsOfPeers>(all, ranks, rank());
                                }));
  }

  /// Collective: whether each rank reads what every other has written, behind its event.
  void check() const {
    const double mine = rank() + 1;
    const auto write = [&] {
      require(
          cudaMemcpyAsync(staging_.span.data, &mine, sizeof mine, cudaMemcpyDefault, raw_stream()),
          "cannot write to the device memory", rank());
      for (int other = 0; other < size(); ++other) {
        require(cudaEventRecord(events_->own->at(Mark::ready, other), raw_stream()),
                "cannot record the event", rank());
      }
    };
    // Those who read wait here for those who write.
    throw_together<Unavailable>(control_, "transport cuda_ipc", problem_of(write));
    const auto read = [&](int other) {
      double theirs = 0;
      require(cudaStreamWaitEvent(raw_stream(), events_->of_peers->at(Mark::ready, other), 0),
              "cannot wait for the event", other);
      require(cudaMemcpyAsync(&theirs, shared_->windows.base(staging_number(), other),
                              sizeof theirs, cudaMemcpyDefault, raw_stream()),
              "cannot read the device memory", other);
      require(cudaStreamSynchronize(raw_stream()), "cannot read the device memory", other);
      if (theirs != other + 1) {
        fail("rank {} wrote {} and rank {} reads {}", other, other + 1, rank(), theirs);
      }
    };
    throw_together<Unavailable>(control_, "transport cuda_ipc", problem_of([&] {
                                  for (int other = 0; other < size(); ++other) read(other);
                                }));
  }

  void enqueue_copy(const std::byte* from, std::byte* to, std::size_t bytes) const {
    CUDA_CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, raw_stream()));
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
    const std::vector<Exported> all = all_gather_as_is(control_, std::vector{mine});
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
  std::shared_ptr<PairEvents> events_;
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
