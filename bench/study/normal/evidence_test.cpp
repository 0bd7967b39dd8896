// SPDX-License-Identifier: Apache-2.0
// Lines as NCCL 2.19 to 2.28 print them with NCCL_DEBUG=INFO, made up but for their form.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "bench/study/normal/judge.hpp"

namespace scalebench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> causes(std::string_view log) {
  std::vector<std::string> all;
  for (const Sign& sign : evidence_in(log).signs) all.push_back(sign.cause);
  return all;
}

TEST(Evidence, OfSocketsPeersAndSettings) {
  const Evidence evidence = evidence_in(
      "n1:9:9 [0] NCCL INFO NCCL_P2P_DISABLE set by environment to 1\n"
      "n1:9:9 [0] NCCL INFO Channel 00 : 0[0] -> 1[1] via SHM/direct/direct\n"
      "n1:9:9 [0] NCCL INFO Channel 01 : 0[0] -> 1[1] via SHM/direct/direct\n"
      "n1:9:9 [0] NCCL INFO Channel 00/0 : 1[1] -> 2[0] [send] via NET/Socket/0\n");
  ASSERT_EQ(evidence.signs.size(), 3U);
  EXPECT_EQ(evidence.signs[0].cause, "NCCL_P2P_DISABLE=1 was set");
  EXPECT_EQ(evidence.signs[1].line, 2U);
  EXPECT_THAT(evidence.signs[1].cause, HasSubstr("peer-to-peer is off"));
  EXPECT_THAT(evidence.signs[2].cause, HasSubstr("NCCL's sockets"));
  EXPECT_THAT(evidence.signs[2].seen, HasSubstr("via NET/Socket/0"));
}

TEST(Evidence, OfGpuDirectAndRails) {
  const std::string with =
      "[0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA\n"
      "[0] NCCL INFO Channel 01/0 : 0[0] -> 8[0] [send] via NET/IB/3/GDRDMA\n";
  EXPECT_THAT(causes(with), IsEmpty());
  EXPECT_THAT(evidence_in(with).rails, ElementsAre(0, 3));
  EXPECT_THAT(causes("[0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0\n"),
              ElementsAre(HasSubstr("GPU-direct is off")));
  EXPECT_THAT(evidence_in("[0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/AWS "
                          "Libfabric/2/GDRDMA\n")
                  .rails,
              ElementsAre(2));
}

TEST(Evidence, OfALogWithoutAny) {
  EXPECT_THAT(causes("# nThread 1 nGpus 1\n1048576 262144 float sum -1 1 2 3 0 1 2 3 0\n"),
              IsEmpty());
  EXPECT_THAT(causes(""), IsEmpty());
}

}  // namespace
}  // namespace scalebench
