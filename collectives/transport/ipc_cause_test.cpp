// SPDX-License-Identifier: Apache-2.0
// What is said of the cause where CUDA IPC was refused, by what the ranks tell of their places.
#include "collectives/transport/ipc_cause.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

namespace scalebench {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(IpcCause, IsWhatTellsTheRanksApart) {
  const IpcPlace here{.namespaces = "ipc:[1]pid:[2]", .device = "GPU-a"};
  IpcPlace contained = here, elsewhere = here, slice = here;
  contained.namespaces = "ipc:[3]pid:[2]";
  elsewhere.device = "GPU-b";
  slice.slice = true;
  const auto cause = [&](const IpcPlace& other) {
    return likely_cause(std::vector{here, here, other});
  };
  EXPECT_THAT(cause(contained), AllOf(HasSubstr("--ipc=host"), Not(HasSubstr("\n"))));
  EXPECT_THAT(cause(elsewhere), HasSubstr("topo -p2p"));
  EXPECT_THAT(cause(slice), HasSubstr("MIG"));
  EXPECT_THAT(cause(here), HasSubstr("WSL"));
}

TEST(IpcCause, NamesTheContainersWhateverTheDevices) {
  const std::vector<IpcPlace> ranks{{"ipc:[1]", "GPU-a", true}, {"ipc:[2]", "GPU-b", true}};
  EXPECT_THAT(likely_cause(ranks), HasSubstr("--ipc=host"));
}

TEST(IpcPlace, IsThatOfThisProcess) {
  unsetenv("NVIDIA_VISIBLE_DEVICES");
  setenv("CUDA_VISIBLE_DEVICES", "MIG-5", 1);
  const IpcPlace slice = ipc_place_here("GPU-a");
  EXPECT_TRUE(slice.slice);
  setenv("CUDA_VISIBLE_DEVICES", "0", 1);
  const IpcPlace card = ipc_place_here("GPU-a");
  unsetenv("CUDA_VISIBLE_DEVICES");
  EXPECT_FALSE(card.slice);
  EXPECT_THAT(card.namespaces, AllOf(HasSubstr("ipc:["), HasSubstr("pid:[")));
  EXPECT_EQ(card.namespaces, slice.namespaces);
}

}  // namespace
}  // namespace scalebench
