// SPDX-License-Identifier: Apache-2.0
// The main of a test that runs under mpirun.
#include <gtest/gtest.h>

#include "collectives/mpi_session.hpp"

int main(int argc, char** argv) {
  scalebench::MpiSession session(argc, argv);
  testing::InitGoogleTest(&argc, argv);
  scalebench::require_promised_ranks(session);
  return RUN_ALL_TESTS();
}
