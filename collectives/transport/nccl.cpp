// SPDX-License-Identifier: Apache-2.0
#include "collectives/transport/nccl.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <nccl.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "collectives/control.hpp"
#include "kernels/buffer.hpp"
#include "kernels/cuda/check.hpp"
#include "kernels/device.hpp"
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

/// The communicator: destroyed, or aborted once something has gone wrong.
struct NcclHandle {
  ncclComm_t communicator = nullptr;

  NcclHandle() = default;
  ~NcclHandle() {
    if (communicator != nullptr) ncclCommDestroy(communicator);
  }
  NcclHandle(const NcclHandle&) = delete;
  NcclHandle& operator=(const NcclHandle&) = delete;

  /// Ends what is enqueued, also what waits for a peer for ever. Later calls of NCCL are refused.
  void abort() noexcept {
    if (communicator != nullptr) ncclCommAbort(communicator);
    communicator = nullptr;
  }

  /// What NCCL reports beside the stream; empty: nothing.
  std::string error() const {
    if (communicator == nullptr) return "this communicator was aborted";
    ncclResult_t asynchronous = ncclSuccess;
    const ncclResult_t asked = ncclCommGetAsyncError(communicator, &asynchronous);
    if (asked == ncclSuccess && (asynchronous == ncclSuccess || asynchronous == ncclInProgress)) {
      return {};
    }
    const ncclResult_t reported = asked == ncclSuccess ? asynchronous : asked;
    return fmt::format("{} ({}); another rank failed, or the network between them",
                       ncclGetErrorString(reported), ncclGetLastError(communicator));
  }
};

/// Zeroed device memory of a window: where NCCL offers it, in NCCL's own way, of which NCCL is
/// told; else plain.
class NcclMemory {
 public:
  /// Collective: all ranks' memory is of one kind. Throws Unavailable where it cannot be as
  /// `wanted`; without that wish it is plain then.
  static std::shared_ptr<NcclMemory> make(Communicator& control, std::shared_ptr<NcclHandle> nccl,
                                          std::size_t bytes, std::optional<Registration> wanted) {
    auto memory = std::make_shared<NcclMemory>(std::move(nccl));
    std::string problem = common_problem(control, problem_of([&] { memory->allocate(bytes); }));
    if (problem.empty()) {
      // Of a window NCCL is told by all ranks or by none, and so all have their memory by now.
      const Registration kind = wanted.value_or(Registration::local);
      problem = common_problem(control, problem_of([&] { memory->register_as(kind, bytes); }));
      if (problem.empty()) return memory;
      memory->deregister();
    } else {
      memory->free_all();
      // Too little memory was refused, too: the plain allocation says how much there is.
      throw_together<Error>(control, "transport nccl",
                            problem_of([&] { memory->allocate_plain(bytes); }));
    }
    static_cast<void>(cudaGetLastError());  // or the next kernel would report what failed in NCCL
    if (wanted.value_or(Registration::none) != Registration::none) {
      fail<Unavailable>("transport nccl, --register {}: {}", name_of(*wanted), problem);
    }
    return memory;
  }

  /// Memory of this rank alone, of which NCCL is not told, of the same kind as windows: what NCCL
  /// registers by itself for a graph it then registers of both or of neither.
  static std::shared_ptr<NcclMemory> alone(std::shared_ptr<NcclHandle> nccl, std::size_t bytes,
                                           bool plain) {
    auto memory = std::make_shared<NcclMemory>(std::move(nccl));
    if (plain) {
      memory->allocate_plain(bytes);
    } else {
      memory->allocate(bytes);
    }
    return memory;
  }

  explicit NcclMemory(std::shared_ptr<NcclHandle> nccl) : nccl_(std::move(nccl)) {}
  ~NcclMemory() { free_all(); }
  NcclMemory(const NcclMemory&) = delete;
  NcclMemory& operator=(const NcclMemory&) = delete;

  std::byte* data() const {
    return memory_ != nullptr ? static_cast<std::byte*>(memory_) : plain_.span().data;
  }
  Registration registration() const { return registration_; }
  bool is_plain() const { return memory_ == nullptr; }

 private:
  void allocate_plain(std::size_t bytes) {
    plain_ = Buffer((bytes + sizeof(double) - 1) / sizeof(double), DType::float64, Memory::device);
  }

#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 19, 0)
  void allocate(std::size_t bytes) {
    void* memory = nullptr;
    NCCL_CHECK(ncclMemAlloc(&memory, bytes));
    if (memory == nullptr) fail("ncclMemAlloc gave nothing");
    memory_ = memory;
    device_zero(memory_, bytes);
  }

  void register_as(Registration kind, std::size_t bytes) {
    if (kind == Registration::local) {
      NCCL_CHECK(ncclCommRegister(nccl_->communicator, memory_, bytes, &handle_));
    }
    if (kind == Registration::symmetric) register_window(bytes);
    registration_ = kind;
  }

#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 27, 0)
  void register_window(std::size_t bytes) {
    NCCL_CHECK(ncclCommWindowRegister(nccl_->communicator, memory_, bytes, &window_,
                                      NCCL_WIN_COLL_SYMMETRIC));
    // Where ranks cannot map each other's memory, some versions report success and no window.
    // 2.28 takes it as ncclCommRegister does then, and does not say so.
    if (window_ == nullptr) fail("NCCL has no symmetric window for these ranks");
  }
  void deregister_window() noexcept {
    if (window_ != nullptr) ncclCommWindowDeregister(nccl_->communicator, window_);
    window_ = nullptr;
  }
  ncclWindow_t window_ = nullptr;
#else
  void register_window(std::size_t /*bytes*/) {
    fail("{}", why_nccl_cannot_register(Registration::symmetric, NCCL_VERSION_CODE));
  }
  void deregister_window() noexcept {}
#endif

  void deregister() noexcept {
    if (nccl_->communicator != nullptr) {
      if (handle_ != nullptr) ncclCommDeregister(nccl_->communicator, handle_);
      deregister_window();
    }
    handle_ = nullptr;
    registration_ = Registration::none;
  }

  void free_all() noexcept {
    deregister();
    if (memory_ != nullptr) ncclMemFree(memory_);
    memory_ = nullptr;
  }
#else
  void allocate(std::size_t /*bytes*/) {
    fail("{}", why_nccl_cannot_register(Registration::local, NCCL_VERSION_CODE));
  }
  void register_as(Registration /*kind*/, std::size_t /*bytes*/) {}
  void deregister() noexcept {}
  void free_all() noexcept {}
#endif

  std::shared_ptr<NcclHandle> nccl_;
  void* memory_ = nullptr;
  void* handle_ = nullptr;  // of ncclCommRegister
  Registration registration_ = Registration::none;
  Buffer plain_;
};

constexpr std::array<ncclDataType_t, kDTypes.size()> kTypeOfDtype{ncclFloat, ncclDouble, ncclInt32,
                                                                  ncclHalf, ncclBfloat16};
constexpr std::array<ncclRedOp_t, kReduceOps.size()> kOpOfOp{ncclSum, ncclProd, ncclMin, ncclMax,
                                                             ncclAvg};

/// Collective: one line, the same on all ranks, when two of them share a device and may not.
std::string why_not_distinct(Communicator& control) {
  int device = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  std::vector<std::string> uuids = all_gather(control, device_uuid(device));
  std::ranges::sort(uuids);
  const auto twice = std::ranges::adjacent_find(uuids);
  const bool may_share = all_agree(control, nccl_shares_devices());
  if (twice == uuids.end() || may_share) return {};
  const std::string never = why_nccl_cannot_share(nccl_version_code());
  return fmt::format(
      "two ranks are on device {}: {}; take transport cuda_ipc, or a device each", *twice,
      never.empty()
          ? fmt::format("NCCL {} takes that only with NCCL_MULTI_RANK_GPU_ENABLE=1", nccl_version())
          : never);
}

/// Collective. Throws Unavailable, on every rank, where NCCL refuses on any of them.
std::shared_ptr<NcclHandle> connect(Communicator& control) {
  ncclUniqueId id{};
  throw_together<Unavailable>(control, "transport nccl", problem_of([&] {
                                if (control.rank() == 0) NCCL_CHECK(ncclGetUniqueId(&id));
                              }));
  broadcast_bytes(control, std::as_writable_bytes(std::span(&id, 1)), 0);
  auto handle = std::make_shared<NcclHandle>();
  const std::string problem = common_problem(
      control, problem_of([&] {
        NCCL_CHECK(ncclCommInitRank(&handle->communicator, control.size(), id, control.rank()));
      }));
  if (problem.empty()) return handle;
  handle->abort();  // others have no communicator with which this one could end in order
  static_cast<void>(cudaGetLastError());  // or the next kernel would report what failed in NCCL
  fail<Unavailable>("transport nccl: {}", problem);
}

class NcclCommunicator final : public Communicator {
 public:
  NcclCommunicator(Communicator& control, std::optional<Registration> registration)
      : Communicator(Memory::device),
        control_(control),
        wanted_(registration),
        shared_(std::make_shared<Shared>(control)) {}

  ~NcclCommunicator() override {
    // Work that waits for a peer would otherwise be waited for at the end.
    if (std::uncaught_exceptions() > 0) shared_->abort();
    // NCCL takes its memory back without waiting for what uses it.
    if (scratch_) static_cast<void>(cudaStreamSynchronize(raw_stream()));
  }

  /// NCCL connects the ranks in their first collective and in their first message, and not before:
  /// where that cannot be, or a rank is missing, it shows here and not in the first case or
  /// training. Throws Unavailable then, on every rank.
  void meet() {
    meet_by([this](Span mine, Span) { native_allreduce(mine, mine, ReduceOp::sum); });
    if (size() == 1) return;
    meet_by([this](Span mine, Span theirs) {
      exchange(mine, (rank() + 1) % size(), theirs, (rank() + size() - 1) % size());
    });
  }

  int rank() const override { return control_.rank(); }
  int size() const override { return control_.size(); }
  Topology topology() const override { return control_.topology(); }
  std::string_view transport() const override { return "nccl"; }
  DeviceStream stream() const override { return shared_->stream.get(); }
  bool capturable() const override { return true; }
  std::string_view registration() const override {
    return registration_ ? name_of(*registration_) : std::string_view();
  }

  void exchange(ConstSpan out, int to, Span in, int from) override {
    const ncclComm_t nccl = alive(*shared_->messages);
    NCCL_CHECK(ncclGroupStart());
    // A group that was begun is ended, also after an error.
    ncclResult_t sent = ncclSuccess, received = ncclSuccess;
    if (!out.empty()) sent = ncclSend(out.data, out.bytes(), ncclInt8, to, nccl, raw_stream());
    if (!in.empty()) {
      received = ncclRecv(in.data, in.bytes(), ncclInt8, from, nccl, raw_stream());
    }
    const ncclResult_t ended = ncclGroupEnd();
    NCCL_CHECK(sent);
    NCCL_CHECK(received);
    NCCL_CHECK(ended);
  }

  Window window(std::size_t count, DType dtype) override {
    shared_->releases.collect();
    if (count == 0) return {Span{nullptr, 0, dtype, Memory::device}, nullptr};
    const std::size_t bytes = count * size_of(dtype);
    std::shared_ptr<NcclMemory> own = NcclMemory::make(control_, shared_->nccl, bytes, wanted_);
    registration_ = own->registration();
    plain_ = own->is_plain();
    std::byte* base = own->data();
    return {Span{base, count, dtype, Memory::device},
            std::shared_ptr<void>(base, [shared = shared_, own](void*) mutable {
              shared->releases.release(nullptr, std::move(own));
            })};
  }

  Span scratch(std::size_t count, DType dtype) override {
    const std::size_t bytes = count * size_of(dtype);
    if (bytes > scratch_bytes_) {
      wait();  // for what is enqueued on the smaller one, which goes
      scratch_.reset();
      scratch_bytes_ = 0;
      scratch_ = NcclMemory::alone(shared_->nccl, bytes, plain_);
      scratch_bytes_ = bytes;
    }
    return {scratch_ ? scratch_->data() : nullptr, count, dtype, Memory::device};
  }

  void wait() override {
    const CallMarks::Call call(marks());
    shared_->wait();
  }

  void barrier() override {
    wait();
    control_.barrier();
  }

  bool native_allreduce(ConstSpan in, Span out, ReduceOp op) override {
    if (out.empty()) return true;
    // NCCL before 2.29.7 leaves the last elements of a mean over one rank unwritten (its issue
    // 1950).
    if (op == ReduceOp::avg && size() == 1) op = ReduceOp::sum;
    NCCL_CHECK(ncclAllReduce(
        in.data, out.data, out.count, kTypeOfDtype[static_cast<std::size_t>(out.dtype)],
        kOpOfOp[static_cast<std::size_t>(op)], alive(*shared_->nccl), raw_stream()));
    return true;
  }

 private:
  /// What windows need when they are let go; the last ones outlive this object as scratch of its
  /// base.
  struct Shared {
    explicit Shared(Communicator& control)
        : nccl(connect(control)),
          messages(control.size() > 1 ? connect(control) : nccl),
          releases(control, [this] { wait(); }) {}

    void wait() {
      wait_beside_errors([this] { return is_done(); }, [this] { return error(); },
                         [this] { abort(); });
    }

    std::string error() const {
      std::string of_collectives = nccl->error();
      return of_collectives.empty() ? messages->error() : of_collectives;
    }

    void abort() noexcept {
      nccl->abort();
      messages->abort();
    }

    bool is_done() const {
      const cudaError_t state = cudaStreamQuery(static_cast<cudaStream_t>(stream.get().handle));
      if (state == cudaSuccess) return true;
      // "Not ready" would otherwise be reported as the error of the next kernel.
      static_cast<void>(cudaGetLastError());
      if (state != cudaErrorNotReady) fail("nccl stream: {}", cudaGetErrorString(state));
      return false;
    }

    OwnedStream stream;
    std::shared_ptr<NcclHandle> nccl;
    // Of exchange(), and without any registered memory. A message may go from a window to memory
    // that is none, and of what one call sends and receives NCCL must know all or nothing: "if any
    // rank in a communicator passes registered buffers ... all other ranks must", says its page on
    // user buffer registration, or the behaviour is undefined. One rank meets no other.
    std::shared_ptr<NcclHandle> messages;
    ReleaseTogether releases;
  };

  /// Collective: `call` on two numbers of this rank's, up to its end.
  template <class Call>
  void meet_by(Call call) {
    throw_together<Unavailable>(control_, "transport nccl", problem_of([&] {
                                  const Buffer mine(1, DType::float32, Memory::device);
                                  const Buffer theirs(1, DType::float32, Memory::device);
                                  call(mine.span(), theirs.span());
                                  wait();
                                }));
  }

  static ncclComm_t alive(const NcclHandle& nccl) {
    if (nccl.communicator == nullptr) fail("nccl: this communicator was aborted");
    return nccl.communicator;
  }
  cudaStream_t raw_stream() const { return static_cast<cudaStream_t>(stream().handle); }

  Communicator& control_;
  const std::optional<Registration> wanted_;
  std::optional<Registration> registration_;  // of the latest window
  bool plain_ = true;                         // it is none of NCCL's memory, or there is none yet
  std::shared_ptr<NcclMemory> scratch_;
  std::size_t scratch_bytes_ = 0;
  std::shared_ptr<Shared> shared_;
};

}  // namespace

std::unique_ptr<Communicator> make_nccl_communicator(Communicator& control,
                                                     std::optional<Registration> registration) {
  throw_together<Unavailable>(control, "transport nccl",
                              device_count() == 0 ? why_no_device() : std::string());
  throw_together<Unavailable>(control, "transport nccl", why_not_distinct(control));
  if (registration) {
    const int version = std::min(NCCL_VERSION_CODE, nccl_version_code());
    throw_together<Unavailable>(control, "transport nccl",
                                why_nccl_cannot_register(*registration, version));
  }
  auto ranks = std::make_unique<NcclCommunicator>(control, registration);
  ranks->meet();
  return ranks;
}

int nccl_version_code() {
  int version = 0;
  return ncclGetVersion(&version) == ncclSuccess ? version : 0;
}

std::string nccl_version() { return nccl_version_text(nccl_version_code()); }

}  // namespace scalebench
