// SPDX-License-Identifier: Apache-2.0
// Runs under mpirun: the transports of device memory between processes, which may share a card.
// Each test is skipped, with the transport's own words, where it cannot.
#include <gtest/gtest.h>

#include "collectives/mpi_session.hpp"
#include "collectives/transport/device_transport_test.hpp"
#include "collectives/transport/nccl.hpp"
#include "collectives/transport/transports.hpp"
#include "kernels/device.hpp"

namespace scalebench {
namespace {

class DeviceProcesses : public testing::Test {
 protected:
  /// Skips with the transport's own words.
  template <class Make>
  void make(Make transport) {
    try {
      ranks_ = transport(*control_);
    } catch (const Unavailable& error) {
      why_not_ = error.what();
    }
  }

  std::unique_ptr<Communicator> control_ = make_mpi_communicator();
  std::unique_ptr<Communicator> ranks_;
  std::string why_not_;
};

TEST_F(DeviceProcesses, CudaIpc) {
  make(&make_cuda_ipc_communicator);
  if (!ranks_) GTEST_SKIP() << why_not_;
  for (const AllreduceAlgorithm& algorithm : allreduce_algorithms()) {
    if (algorithm.name == "native" || algorithm.name == "auto") continue;
    expect_exact_on_device(*ranks_, algorithm);
  }
  expect_long_messages_exact(*ranks_);
  expect_exact_one_behind_the_other(*ranks_);
  expect_scratch_is_never_overtaken(*ranks_);
  expect_windows_to_survive_a_refusal(*ranks_);
}

class DeviceProcessesOverNccl : public DeviceProcesses,
                                public testing::WithParamInterface<Registration> {};

INSTANTIATE_TEST_SUITE_P(Every, DeviceProcessesOverNccl, testing::ValuesIn(kRegistrations),
                         [](const auto& test) {
                           return "Register" + std::string(name_of(test.param));
                         });

TEST_P(DeviceProcessesOverNccl, IsExact) {
  make([](Communicator& control) {
    auto ranks = make_nccl_communicator(control, GetParam());
    ranks->window(1, DType::float32);  // where NCCL refuses what its version could do
    return ranks;
  });
  if (!ranks_) GTEST_SKIP() << why_not_;
  for (const std::string_view name : {"native", "ring", "recursive_doubling"}) {
    expect_exact_on_device(*ranks_, allreduce_named(name));
  }
  expect_long_messages_exact(*ranks_);
  expect_exact_one_behind_the_other(*ranks_);
  expect_windows_to_survive_a_refusal(*ranks_);
}

TEST_F(DeviceProcesses, CudaAwareMpi) {
  make([](Communicator&) { return make_mpi_communicator(Memory::device); });
  if (!ranks_) GTEST_SKIP() << why_not_;
  for (const std::string_view name : {"ring", "recursive_doubling"}) {
    expect_exact_on_device(*ranks_, allreduce_named(name));
  }
  const Window window = ranks_->window(4099, DType::float32);
  for (const ReduceOp op : kReduceOps) {
    EXPECT_TRUE(
        expect_exact_on_device(*ranks_, allreduce_named("native"), window.span, window.span, op));
  }
  expect_long_messages_exact(*ranks_);
}

}  // namespace
}  // namespace scalebench

int main(int argc, char** argv) {
  scalebench::MpiSession session(argc, argv);
  testing::InitGoogleTest(&argc, argv);
  scalebench::require_promised_ranks(session);
  const int devices = scalebench::device_count();
  if (devices == 0) {
    fmt::print("skipped: {}\n", scalebench::why_no_device());
    return 0;
  }
  scalebench::select_device(session.local_rank() % devices);
  return RUN_ALL_TESTS();
}
