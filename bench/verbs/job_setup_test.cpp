// SPDX-License-Identifier: Apache-2.0
#include "bench/verbs/job_setup.hpp"

#include <gtest/gtest.h>

namespace scalebench {
namespace {

TEST(SlotsOf, StudiesOfTheCpuTakeItsCoresAndOthersTheGpus) {
  ManagedJob job;
  job.gpus = 4;
  StudyConfig config;
  EXPECT_EQ(slots_of(job, config), 4);
  config.device = "cpu";
  EXPECT_EQ(slots_of(job, config), devices_of(config));
}

}  // namespace
}  // namespace scalebench
