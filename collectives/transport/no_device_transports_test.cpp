// SPDX-License-Identifier: Apache-2.0
// Transports of device memory where there is no device: every rank hears why, in one line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "collectives/transport/nccl.hpp"
#include "collectives/transport/thread_ranks_test.hpp"
#include "collectives/transport/transports.hpp"
#include "kernels/device.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

using Make = std::unique_ptr<Communicator> (*)(Communicator& control);

void expect_refused(Make make, const std::string& name) {
  if (device_count() > 0) GTEST_SKIP() << "this machine has a device";
  std::atomic<int> refused = 0;
  run_ranks(3, [&](Communicator& control) {
    try {
      make(control);
    } catch (const Unavailable& error) {
      EXPECT_EQ(error.what(), "transport " + name + ": " + why_no_device());
      EXPECT_THAT(error.what(), testing::Not(testing::HasSubstr("\n")));
      ++refused;
    }
  });
  EXPECT_EQ(refused, 3);
}

TEST(NoDevice, CudaIpcSaysWhy) { expect_refused(&make_cuda_ipc_communicator, "cuda_ipc"); }

TEST(NoDevice, NcclSaysWhy) {
  expect_refused([](Communicator& control) { return make_nccl_communicator(control); }, "nccl");
}

TEST(NoDevice, GraphsSayWhatIsMissing) {
  DeviceGraph graph;  // making one costs nothing and needs nothing
  EXPECT_THROW(graph.begin_capture(DeviceStream{}), Error);
  EXPECT_THROW(graph.end_capture(), Error);
  EXPECT_THROW(graph.launch(DeviceStream{}), Error);
}

}  // namespace
}  // namespace scalebench
