// SPDX-License-Identifier: Apache-2.0
#include "collectives/mpi_communicator.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "collectives/mpi_check.hpp"
#include "collectives/scratch_buffer.hpp"
#include "kernels/add.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

// MPI counts are int: larger messages go in pieces of this many bytes.
constexpr std::size_t kLargestPiece = std::size_t{1} << 30U;

class MpiCommunicator final : public Communicator {
 public:
  MpiCommunicator() {
    MPI_CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &world_));
    MPI_CHECK(MPI_Comm_set_errhandler(world_, MPI_ERRORS_RETURN));
    MPI_CHECK(MPI_Comm_rank(world_, &rank_));
    MPI_CHECK(MPI_Comm_size(world_, &size_));
    topology_ = gather_topology();
  }
  ~MpiCommunicator() override { MPI_Comm_free(&world_); }
  MpiCommunicator(const MpiCommunicator&) = delete;
  MpiCommunicator& operator=(const MpiCommunicator&) = delete;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  Topology topology() const override { return topology_; }
  std::string_view transport() const override { return "mpi"; }
  Memory memory() const override { return Memory::host; }

  void exchange(ConstSpan out, int to, Span in, int from) override {
    requests_.clear();
    for (std::size_t at = 0; at < in.bytes(); at += kLargestPiece) {
      const int bytes = static_cast<int>(std::min(kLargestPiece, in.bytes() - at));
      MPI_CHECK(MPI_Irecv(in.data + at, bytes, MPI_BYTE, from, kTag, world_, next_request()));
    }
    for (std::size_t at = 0; at < out.bytes(); at += kLargestPiece) {
      const int bytes = static_cast<int>(std::min(kLargestPiece, out.bytes() - at));
      MPI_CHECK(MPI_Isend(out.data + at, bytes, MPI_BYTE, to, kTag, world_, next_request()));
    }
    MPI_CHECK(
        MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE));
  }

  void add(Span into, ConstSpan from) override { scalebench::add(into, from); }
  Span scratch(std::size_t count, DType dtype) override { return scratch_.get(count, dtype); }
  void wait() override {}
  void barrier() override { MPI_CHECK(MPI_Barrier(world_)); }

  bool native_allreduce(Span data) override {
    const MPI_Datatype type = mpi_type_of(data.dtype);
    if (type == MPI_DATATYPE_NULL) return false;
    const std::size_t largest = kLargestPiece / size_of(data.dtype);
    for (std::size_t at = 0; at < data.count; at += largest) {
      const int count = static_cast<int>(std::min(largest, data.count - at));
      MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, data.part(at, 0).data, count, type, MPI_SUM, world_));
    }
    return true;
  }

 private:
  static constexpr int kTag = 0;

  /// MPI has no type for half or bfloat16: MPI_DATATYPE_NULL.
  static MPI_Datatype mpi_type_of(DType dtype) {
    switch (dtype) {
      case DType::float32:
        return MPI_FLOAT;
      case DType::float64:
        return MPI_DOUBLE;
      case DType::int32:
        return MPI_INT32_T;
      case DType::float16:
      case DType::bfloat16:
        break;
    }
    return MPI_DATATYPE_NULL;
  }

  MPI_Request* next_request() { return &requests_.emplace_back(MPI_REQUEST_NULL); }

  /// Ranks that can share memory are one node: its lowest rank names it.
  Topology gather_topology() const {
    MPI_Comm node = MPI_COMM_NULL;
    MPI_CHECK(MPI_Comm_split_type(world_, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
    int lowest = rank_;
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &lowest, 1, MPI_INT, MPI_MIN, node));
    MPI_CHECK(MPI_Comm_free(&node));
    std::vector<int> lowest_of(static_cast<std::size_t>(size_));
    MPI_CHECK(MPI_Allgather(&lowest, 1, MPI_INT, lowest_of.data(), 1, MPI_INT, world_));
    std::vector<std::string> names;
    for (const int node_name : lowest_of) names.push_back(std::to_string(node_name));
    return topology_of_hosts(names);
  }

  MPI_Comm world_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
  Topology topology_;
  std::vector<MPI_Request> requests_;
  ScratchBuffer scratch_{Memory::host};
};

}  // namespace

std::unique_ptr<Communicator> make_mpi_communicator() {
  return std::make_unique<MpiCommunicator>();
}

}  // namespace scalebench
