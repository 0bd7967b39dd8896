// SPDX-License-Identifier: Apache-2.0
// Which fields of two manifests differ, and what unknown ones say.
#include "bench/study/comparison/run_difference.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace scalebench {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Manifest manifest() {
  Manifest manifest;
  Environment& environment = manifest.environment;
  environment.key["cpu_model"] = Fact::of("EPYC");
  environment.key["gpus"] = Fact::absent("no driver");
  environment.treatment["mpi"] = Fact::of("4.1.4");
  environment.treatment["variables"] = Fact::of({{"NCCL_DEBUG", "INFO"}});
  environment.observation["load_average"] = Fact::of(0.5);
  return manifest;
}

std::vector<std::string> told(const std::vector<FieldDifference>& fields) {
  std::vector<std::string> lines;
  for (const FieldDifference& field : fields) {
    lines.push_back(fmt::format("{} {}: {} -> {}", field.set, field.field, field.a, field.b));
  }
  return lines;
}

TEST(RunDifference, TellsKeyTreatmentAndObservationApart) {
  Manifest changed = manifest();
  Environment& other = changed.environment;
  EXPECT_THAT(differences_of(manifest(), changed), IsEmpty());
  other.treatment["mpi"] = Fact::of("5.0");
  other.observation["load_average"] = Fact::of(3);
  other.key["gpus"] = Fact::of({"V100", "V100"});
  EXPECT_THAT(told(differences_of(manifest(), changed)),
              ElementsAre("key gpus: unknown (no driver) -> [\"V100\",\"V100\"]",
                          "treatment mpi: 4.1.4 -> 5.0", "observation load_average: 0.5 -> 3"));
  EXPECT_TRUE(of_other_machines(differences_of(manifest(), changed)));
  other.key = manifest().environment.key;
  EXPECT_FALSE(of_other_machines(differences_of(manifest(), changed)));
}

TEST(RunDifference, NamesEachVariableAndWhatIsNotRecorded) {
  Manifest changed = manifest();
  Environment& other = changed.environment;
  other.treatment["variables"] = Fact::of({{"NCCL_DEBUG", "WARN"}, {"UCX_TLS", "tcp"}});
  other.key.erase("cpu_model");
  EXPECT_THAT(told(differences_of(manifest(), changed)),
              ElementsAre("key cpu_model: EPYC -> not recorded",
                          "treatment variables.NCCL_DEBUG: INFO -> WARN",
                          "treatment variables.UCX_TLS: not recorded -> tcp"));
}

TEST(RunDifference, IsTold) {
  Manifest a, b;
  a.binaries = {{"bench_epoch", std::string(64, 'a')}};
  b.binaries = {{"bench_epoch", std::string(64, 'b')}};
  EXPECT_EQ(difference_table(differences_of(a, b)),
            "binaries: SHA-256 of the programs\n  bench_epoch: aaaaaaaaaaaa -> bbbbbbbbbbbb\n");
  EXPECT_EQ(difference_table(differences_of(a, a)), "");
}

}  // namespace
}  // namespace scalebench
