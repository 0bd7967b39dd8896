// SPDX-License-Identifier: Apache-2.0
// configs/presets.toml, and files that are none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/study/import/kinds.hpp"
#include "bench/study/import/presets.hpp"
#include "kernels/error.hpp"
#include "kernels/testing.hpp"

namespace scalebench {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Presets, AreOneTableEachWithAnExcerptThatTheyRead) {
  const std::vector<Preset> all = read_presets(SCALEBENCH_PRESETS);
  for (const Preset& preset : all) {
    EXPECT_FALSE(preset.reads.empty() || preset.needs.empty()) << preset.name;
    const std::string said = message_of<UsageError>([&] {
      read_log(preset.excerpt, "log", {&throughput_schema(), all, preset.name}, {});
    });
    EXPECT_THAT(said, Not(HasSubstr("no time of"))) << preset.name;
  }
  ImportGuide guide;
  guide.presets = SCALEBENCH_PRESETS;
  guide.preset = "keras";
  EXPECT_EQ(import_reader("log", guide).schema, &epoch_schema());
  guide.bench = "allreduce";
  EXPECT_THAT(message_of<UsageError>([&] { import_reader("log", guide); }),
              HasSubstr("unknown bench 'allreduce'; valid: epoch, throughput"));
  guide.bench = "";
  guide.metrics = {"seconds=(x)"};
  EXPECT_THAT(message_of<UsageError>([&] { import_reader("log", guide); }),
              HasSubstr("--metric column=expression, one of them"));
  guide.metrics.clear();
  EXPECT_THAT(message_of<UsageError>([&] { import_reader("osu", guide); }),
              HasSubstr("--preset belongs to log alone"));
}

TEST(Presets, OfADamagedFileAreRefusedWithTheirPlaces) {
  const TemporaryFolder folder;
  const auto refusal = [&](const std::string& text) {
    const auto path = folder.write("presets.toml", text);
    return message_of<UsageError>([&] { read_presets(path); });
  };
  EXPECT_THAT(refusal("[[preset]\n"), HasSubstr("presets.toml:1:"));
  EXPECT_THAT(refusal("[[preset]]\nname = 'a'\nsays = { stap = 'x' }\n"),
              HasSubstr("did you mean 'step'?"));
  EXPECT_THAT(refusal("[[preset]]\nname = 'a'\nsays = { step = 3 }\n"),
              HasSubstr("presets.toml:3:17: expected an expression"));
}

}  // namespace
}  // namespace scalebench
