// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "collectives/control.hpp"
#include "collectives/mpi_session.hpp"
#include "collectives/transport/transports.hpp"
#include "kernels/error.hpp"

#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>  // Open MPI's own; after mpi.h
#endif

namespace scalebench {
namespace {

// MPI counts are int: larger messages go in pieces of this many bytes.
constexpr std::size_t kLargestPiece = std::size_t{1} << 30U;
// Over TCP they go in shorter ones, which Open MPI sends at once (its limit there is 64 KiB with a
// header). A longer message waits for a word of its receiver, which queues behind what the receiver
// itself is sending: two ranks that exchange then take turns, at half the speed.
constexpr std::size_t kPieceOverTcp = std::size_t{60} << 10U;
constexpr std::size_t kPiecesUnderWay = 64;  // enough to fill the pipe; each may be a copy in MPI

/// What the library says at run time; an MPI that cannot be asked is none.
bool is_cuda_aware() {
#if defined(MPIX_CUDA_AWARE_SUPPORT)
  return MPIX_Query_cuda_support() == 1;
#elif defined(MPIX_GPU_SUPPORT_CUDA)
  int supported = 0;  // MPICH and what is made of it
  return MPIX_GPU_query_support(MPIX_GPU_SUPPORT_CUDA, &supported) == MPI_SUCCESS && supported != 0;
#else
  return false;
#endif
}

std::string why_no_device_memory() {
  if (device_count() == 0) return why_no_device();
  if (is_cuda_aware()) return {};
  return fmt::format(
      "this MPI ({}) is not CUDA-aware; take transport nccl or cuda_ipc, or an MPI built for CUDA",
      MpiSession::library_version());
}

/// On a device, combine() and the like are enqueued on a stream that MPI does not know: it is
/// synchronised before MPI gets a buffer, which the stream may be writing or, where something
/// arrives, still reading. What MPI has completed is there for whatever is enqueued afterwards.
class MpiCommunicator final : public Communicator {
 public:
  explicit MpiCommunicator(Memory memory) : Communicator(memory) {
    if (memory == Memory::device) stream_.emplace();
    MPI_CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &ranks_));
    MPI_CHECK(MPI_Comm_set_errhandler(ranks_, MPI_ERRORS_RETURN));
    MPI_CHECK(MPI_Comm_rank(ranks_, &rank_));
    MPI_CHECK(MPI_Comm_size(ranks_, &size_));
    topology_ = gather_topology();
    piece_between_nodes_ = goes_over_tcp() ? kPieceOverTcp : kLargestPiece;
  }
  ~MpiCommunicator() override { MPI_Comm_free(&ranks_); }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  Topology topology() const override { return topology_; }
  std::string_view transport() const override { return "mpi"; }

  void exchange(ConstSpan out, int to, Span in, int from) override {
    exchange_meanwhile(out, to, in, from, {});
  }

  void exchange_meanwhile(ConstSpan out, int to, Span in, int from,
                          const std::function<bool()>& meanwhile) override {
    if (out.empty() && in.empty()) return;
    const CallMarks::Call call(marks(), std::max(out.bytes(), in.bytes()));
    wait();
    const std::size_t in_piece = piece_between(from), out_piece = piece_between(to);
    const std::size_t pieces =
        std::max(pieces_of(in.bytes(), in_piece), pieces_of(out.bytes(), out_piece));
    under_way_.assign(std::min(pieces, kPiecesUnderWay), {});
    for (std::size_t i = 0; i < pieces; ++i) {
      PieceUnderWay& piece = under_way_[i % kPiecesUnderWay];
      if (i >= kPiecesUnderWay) finish(piece, from, meanwhile);
      if (const std::size_t at = i * in_piece; at < in.bytes()) {
        piece.expected = static_cast<int>(std::min(in_piece, in.bytes() - at));
        MPI_CHECK(MPI_Irecv(in.data + at, piece.expected, MPI_BYTE, from, kTag, ranks_,
                            &piece.requests[0]));
      }
      if (const std::size_t at = i * out_piece; at < out.bytes()) {
        const int bytes = static_cast<int>(std::min(out_piece, out.bytes() - at));
        MPI_CHECK(MPI_Isend(out.data + at, bytes, MPI_BYTE, to, kTag, ranks_, &piece.requests[1]));
      }
    }
    for (PieceUnderWay& piece : under_way_) finish(piece, from, meanwhile);
  }

  bool pending(int from) override {
    int waits = 0;
    MPI_CHECK(MPI_Iprobe(from, kTag, ranks_, &waits, MPI_STATUS_IGNORE));
    return waits != 0;
  }

  void wait() override {
    if (stream_) stream_->synchronize();
  }

  void barrier() override {
    const CallMarks::Call call(marks());
    wait();
    MPI_CHECK(MPI_Barrier(ranks_));
  }

  DeviceStream stream() const override { return stream_ ? stream_->get() : DeviceStream{}; }

  bool native_allreduce(ConstSpan in, Span out, ReduceOp op) override {
    const MPI_Datatype type = mpi_type_of(out.dtype);
    if (type == MPI_DATATYPE_NULL) return false;
    const CallMarks::Call call(marks(), out.bytes());
    wait();
    const std::size_t largest = kLargestPiece / size_of(out.dtype);
    for (std::size_t at = 0; at < out.count; at += largest) {
      const int count = static_cast<int>(std::min(largest, out.count - at));
      const void* from = in.data == out.data ? MPI_IN_PLACE : in.part(at, 0).data;
      MPI_CHECK(MPI_Allreduce(from, out.part(at, 0).data, count, type, mpi_op_of(op), ranks_));
    }
    if (op == ReduceOp::avg) scale(out, 1.0 / size_);
    return true;
  }

 private:
  static constexpr int kTag = 0;

  /// Of a message, in each direction.
  struct PieceUnderWay {
    std::array<MPI_Request, 2> requests{MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    int expected = 0;  // bytes that are received
  };

  /// MPI takes a shorter message for the one that was waited for, and says so only here. One that
  /// is short by whole pieces (between hosts over TCP, or above 1 GiB) is not noticed: its receiver
  /// waits for the rest, or takes the next message for it.
  void finish(PieceUnderWay& piece, int from, const std::function<bool()>& meanwhile) {
    const bool receives = piece.requests[0] != MPI_REQUEST_NULL;
    std::array<MPI_Status, 2> status;
    int done = 0;
    while (meanwhile && done == 0) {
      MPI_CHECK(MPI_Testall(2, piece.requests.data(), &done, status.data()));
      if (done == 0 && !meanwhile()) break;
    }
    if (done == 0) MPI_CHECK(MPI_Waitall(2, piece.requests.data(), status.data()));
    if (!receives) return;
    int bytes = 0;
    MPI_CHECK(MPI_Get_count(status.data(), MPI_BYTE, &bytes));
    if (bytes != piece.expected) {
      fail("rank {} sent {} bytes where {} were expected", from, bytes, piece.expected);
    }
  }

  /// MPI has no type for half or bfloat16: MPI_DATATYPE_NULL.
  static MPI_Datatype mpi_type_of(DType dtype) {
    const std::array<MPI_Datatype, kDTypes.size()> by_dtype{MPI_FLOAT, MPI_DOUBLE, MPI_INT32_T,
                                                            MPI_DATATYPE_NULL, MPI_DATATYPE_NULL};
    return by_dtype[static_cast<std::size_t>(dtype)];
  }

  /// MPI knows no average: the sum, to be scaled.
  static MPI_Op mpi_op_of(ReduceOp op) {
    const std::array<MPI_Op, kReduceOps.size()> by_op{MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX, MPI_SUM};
    return by_op[static_cast<std::size_t>(op)];
  }

  /// Whether Open MPI has nothing faster between nodes; the same on all ranks.
  bool goes_over_tcp() const {
    std::error_code none;
    int faster = !MpiSession::library_version().starts_with("Open MPI") ||
                 std::filesystem::directory_iterator("/sys/class/infiniband", none) !=
                     std::filesystem::directory_iterator();
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &faster, 1, MPI_INT, MPI_MAX, ranks_));
    return faster == 0;
  }

  /// The same on both sides.
  std::size_t piece_between(int peer) const {
    const auto node = [&](int rank) {
      return topology_.node_of_rank[static_cast<std::size_t>(rank)];
    };
    return node(peer) == node(rank_) ? kLargestPiece : piece_between_nodes_;
  }
  static std::size_t pieces_of(std::size_t bytes, std::size_t piece) {
    return (bytes + piece - 1) / piece;
  }

  /// Ranks that can share memory are one node: its lowest rank names it.
  Topology gather_topology() const {
    MPI_Comm node = MPI_COMM_NULL;
    MPI_CHECK(MPI_Comm_split_type(ranks_, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
    int lowest = rank_;
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &lowest, 1, MPI_INT, MPI_MIN, node));
    MPI_CHECK(MPI_Comm_free(&node));
    std::vector<int> lowest_of(static_cast<std::size_t>(size_));
    MPI_CHECK(MPI_Allgather(&lowest, 1, MPI_INT, lowest_of.data(), 1, MPI_INT, ranks_));
    std::vector<std::string> names;
    names.reserve(lowest_of.size());
    for (const int node_name : lowest_of) names.push_back(std::to_string(node_name));
    return topology_of_hosts(names);
  }

  std::optional<OwnedStream> stream_;  // on a device
  MPI_Comm ranks_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
  Topology topology_;
  std::size_t piece_between_nodes_ = kLargestPiece;
  std::vector<PieceUnderWay> under_way_;
};

}  // namespace

std::unique_ptr<Communicator> make_mpi_communicator(Memory memory) {
  if (memory == Memory::device) {
    MpiCommunicator host(Memory::host);
    throw_together<Unavailable>(host, "transport mpi on a device", why_no_device_memory());
  }
  return std::make_unique<MpiCommunicator>(memory);
}

}  // namespace scalebench
