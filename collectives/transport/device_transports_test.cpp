// SPDX-License-Identifier: Apache-2.0
// The transports of device memory on one card: ranks are threads that share it, where the transport
// allows that. Skipped, visibly, where there is no device.
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/transport/device_transport_test.hpp"
#include "collectives/transport/nccl.hpp"
#include "collectives/transport/thread_ranks_test.hpp"
#include "collectives/transport/transports.hpp"
#include "kernels/device.hpp"
#include "kernels/testing.hpp"

namespace scalebench {
namespace {

class DeviceTransport : public Device {};
class DeviceAllreduce : public DeviceTransport,
                        public testing::WithParamInterface<std::string_view> {};

void run_over_cuda_ipc(int ranks, const std::function<void(Communicator&)>& body) {
  run_ranks(ranks, [&](Communicator& control) {
    select_device(0);
    const auto communicator = make_cuda_ipc_communicator(control);
    body(*communicator);
    communicator->barrier();
  });
}

void run_over_nccl(const std::function<void(Communicator&)>& body,
                   std::optional<Registration> registration = std::nullopt) {
  run_ranks(1, [&](Communicator& control) {
    select_device(0);
    const auto communicator = make_nccl_communicator(control, registration);
    body(*communicator);
    communicator->barrier();
  });
}

TEST_P(DeviceAllreduce, IsExactOverCudaIpc) {
  for (const int ranks : {2, 4}) {
    run_over_cuda_ipc(ranks, [](Communicator& communicator) {
      const bool possible = GetParam() != "native";  // it has none of its own
      expect_exact_on_device(communicator, allreduce_named(GetParam()), possible);
    });
  }
}

TEST_P(DeviceAllreduce, IsExactOverNcclOfOneRank) {
  run_over_nccl([](Communicator& communicator) {
    expect_exact_on_device(communicator, allreduce_named(GetParam()));
  });
}

/// All but `auto`, which is one of the others.
std::vector<std::string_view> algorithm_names() {
  std::vector<std::string_view> names;
  for (const AllreduceAlgorithm& algorithm : allreduce_algorithms()) {
    if (algorithm.name != "auto") names.push_back(algorithm.name);
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(Every, DeviceAllreduce, testing::ValuesIn(algorithm_names()),
                         [](const auto& test) { return std::string(test.param); });

TEST_F(DeviceTransport, CudaIpcTakesLongMessages) {
  run_over_cuda_ipc(2, &expect_long_messages_exact);
}

TEST_F(DeviceTransport, CudaIpcIsExactOneBehindTheOther) {
  run_over_cuda_ipc(2, &expect_exact_one_behind_the_other);
  run_over_cuda_ipc(3, &expect_exact_one_behind_the_other);
}

TEST_F(DeviceTransport, CudaIpcScratchIsNeverOvertaken) {
  run_over_cuda_ipc(4, &expect_scratch_is_never_overtaken);
}

TEST_F(DeviceTransport, CudaIpcWindowsSurviveARefusal) {
  run_over_cuda_ipc(2, &expect_windows_to_survive_a_refusal);
}

TEST_F(DeviceTransport, WindowsGiveTheirMemoryBack) {
  // 200 GiB on each of two ranks, one window after the other.
  const auto many = [](Communicator& communicator) {
    for (int i = 0; i < 400; ++i) communicator.window(std::size_t{1} << 26U, DType::float64);
  };
  run_over_cuda_ipc(2, many);
  run_over_nccl(many);
}

TEST_F(DeviceTransport, CudaIpcWantsOneHost) {
  const auto on_two_hosts = [](Communicator& control) { make_cuda_ipc_communicator(control); };
  try {
    run_ranks(2, on_two_hosts, SendMode::rendezvous, 1);
    FAIL() << "accepted";
  } catch (const Unavailable& error) {
    EXPECT_STREQ(error.what(), "transport cuda_ipc: ranks are on 2 hosts");
  }
}

TEST_F(DeviceTransport, CudaIpcEndsWhenARankFails) {
  for (const bool in_exchange : {true, false}) {
    const auto one_fails = [&](Communicator& communicator) {
      const Window window = communicator.window(1000, DType::float32);
      if (communicator.rank() == 1) throw Error("rank 1 failed");
      if (in_exchange) communicator.exchange(window.span, 1, window.span.part(0, 0), 1);
      communicator.barrier();
    };
    EXPECT_THROW(run_over_cuda_ipc(3, one_fails), Error);
  }
  run_over_cuda_ipc(2, &expect_windows_to_survive_a_refusal);  // the device goes on
}

TEST_F(DeviceTransport, AllRanksHearThatThereIsNotEnoughMemory) {
  const auto too_much = [](Communicator& communicator) {
    EXPECT_THROW(communicator.window(std::size_t{1} << 50U, DType::float64), Error);
    expect_windows_to_survive_a_refusal(communicator);
  };
  run_over_cuda_ipc(2, too_much);
  run_over_nccl(too_much);
}

TEST_F(DeviceTransport, NcclIsToldOfWindowsAsAskedOrSaysWhyNot) {
  for (const Registration registration : kRegistrations) {
    try {
      run_over_nccl(
          [&](Communicator& communicator) {
            const Window window = communicator.window(1000, DType::float32);
            EXPECT_EQ(communicator.registration(), name_of(registration));
            expect_exact_on_device(communicator, allreduce_named("native"), window.span,
                                   window.span, ReduceOp::sum);
            expect_windows_to_survive_a_refusal(communicator);
          },
          registration);
    } catch (const Unavailable& error) {
      EXPECT_NE(registration, Registration::none) << error.what();
    }
  }
}

TEST_F(DeviceTransport, NcclRefusesTwoRanksOnOneDevice) {
  if (std::getenv("NCCL_MULTI_RANK_GPU_ENABLE") != nullptr) GTEST_SKIP() << "asked to allow it";
  const auto twice = [](Communicator& control) {
    select_device(0);
    make_nccl_communicator(control);
  };
  try {
    run_ranks(2, twice);
    FAIL() << "accepted";
  } catch (const Unavailable& error) {
    EXPECT_NE(std::string(error.what()).find(device_uuid(0)), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find(nccl_version()), std::string::npos) << error.what();
  }
}

TEST_F(DeviceTransport, AGraphReplaysAnAllreduceOfNccl) {
  run_over_nccl([](Communicator& communicator) {
    ASSERT_TRUE(communicator.capturable());
    constexpr std::size_t kCount = 100'003;
    const Window in = communicator.window(kCount, DType::float32);
    const Window out = communicator.window(kCount, DType::float32);
    const AllreduceAlgorithm& native = allreduce_named("native");
    native.run(communicator, in.span, out.span, ReduceOp::sum);  // connects, before the capture
    communicator.wait();
    DeviceGraph graph;
    graph.begin_capture(communicator.stream());
    native.run(communicator, in.span, out.span, ReduceOp::sum);
    communicator.reduce(out.span, out.span, out.span, ReduceOp::sum);
    graph.end_capture();
    const Buffer host(kCount, DType::float32);
    for (const float value : {1.0F, 5.0F}) {
      for (float& element : host.span().as<float>()) element = value;
      copy(host.span(), in.span);
      graph.launch(communicator.stream());
      communicator.wait();
      copy(out.span, host.span());
      for (const float element : host.span().as<float>()) ASSERT_EQ(element, 2 * value);
    }
  });
}

}  // namespace
}  // namespace scalebench
