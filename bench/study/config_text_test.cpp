// SPDX-License-Identifier: Apache-2.0
// What is written as the effective configuration reads back as the same study.
#include "bench/study/config_text.hpp"

#include <gtest/gtest.h>

#include "kernels/temporary_folder.hpp"

namespace scalebench {
namespace {

StudyConfig full_config() {
  StudyConfig config;
  config.name = "full";
  config.launches = 7;
  config.ranks = {1, 2, 4};
  config.seed = 42;
  config.threads = 3;
  config.device = "cpu";
  config.devices = 16;
  config.monitor = false;
  config.hosts = "h1:4,h2:4";
  config.mpirun_arguments = {"--hostfile", "with \"quotes\" and \\"};
  config.allreduce.emplace().max_seconds = 0.02;
  config.throughput.emplace().models = {"mlp", "resnet20"};
  config.throughput->batches = {"32", "largest"};
  config.throughput->precisions = {"float32", "bf16"};
  config.throughput->channels_last = "both";
  config.throughput->memory_limit = "2GiB";
  EpochStudy& epoch = config.epochs.emplace_back();
  epoch.model = "mlp";
  epoch.batch = 64;
  epoch.target_accuracy = 0.85;
  epoch.learning_rate = 1e-3;
  epoch.optimizer = "adam";
  config.epochs.emplace_back().model = "resnet20";
  return config;
}

TEST(ConfigText, ReadsBackAsTheSameStudy) {
  const TemporaryFolder folder;
  const std::string text = config_text(full_config());
  const StudyConfig read = read_study_config(folder.write("config.toml", text));
  EXPECT_EQ(config_text(read), text);
  EXPECT_EQ(read.ranks, (std::vector<int>{1, 2, 4}));
  EXPECT_EQ(read.mpirun_arguments, full_config().mpirun_arguments);
  EXPECT_EQ(read.allreduce->max_seconds, 0.02);
  ASSERT_EQ(read.epochs.size(), 2U);
  EXPECT_EQ(read.epochs[0].target_accuracy, 0.85);
  EXPECT_EQ(read.epochs[1].learning_rate, 0) << "the model's default";
  EXPECT_EQ(read.hosts, "h1:4,h2:4");
}

TEST(ConfigText, KeepsLayouts) {
  const TemporaryFolder folder;
  StudyConfig config = full_config();
  config.ranks.clear();
  config.layouts = parse_layouts("1x1,2x4");
  const StudyConfig read = read_study_config(folder.write("config.toml", config_text(config)));
  EXPECT_EQ(read.layouts, config.layouts);
}

}  // namespace
}  // namespace scalebench
