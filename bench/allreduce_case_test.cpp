// SPDX-License-Identifier: Apache-2.0
#include "bench/allreduce_case.hpp"

#include <gtest/gtest.h>

#include <array>

#include "bench/allreduce_options.hpp"
#include "collectives/thread_communicator.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

AllreduceMethod brief() {
  AllreduceMethod method;
  method.repetitions = 3;
  method.warm_up.fixed = 1;
  method.start = StartMode::barrier;
  return method;
}

TEST(MeasureAllreduce, MeasuresARightAlgorithm) {
  for (const bool cold : {false, true}) {
    run_ranks(2, [&](Communicator& ranks) {
      AllreduceMethod method = brief();
      method.cold = cold;
      const AllreduceCase one{&allreduce_named("ring"), DType::bfloat16, 1001};
      const AllreduceResult result = measure_allreduce(ranks, ranks, one, method);
      EXPECT_EQ(result.status, "ok");
      EXPECT_EQ(result.timing.repetitions.size(), 3U);
    });
  }
}

TEST(MeasureAllreduce, VoidsAWrongOne) {
  // A "sum" that forgets the other ranks.
  const AllreduceAlgorithm lazy{.name = "lazy",
                                .function = [](Communicator&, ConstSpan, Span, ReduceOp) {},
                                .cost = nullptr,
                                .purpose = ""};
  run_ranks(2, [&](Communicator& ranks) {
    const AllreduceResult result =
        measure_allreduce(ranks, ranks, {&lazy, DType::float32, 100}, brief());
    EXPECT_EQ(result.status, "wrong");
    EXPECT_GT(result.wrong, 100U) << "both ranks' elements";
    EXPECT_TRUE(result.timing.repetitions.empty()) << "no timing for a wrong result";
  });
}

TEST(MeasureAllreduce, SkipsWithTheReason) {
  run_ranks(2, [&](Communicator& ranks) {
    const AllreduceResult result =
        measure_allreduce(ranks, ranks, {&allreduce_named("native"), DType::float32, 100}, brief());
    EXPECT_EQ(result.status, "skipped");
    EXPECT_NE(result.note.find("threads"), std::string::npos);
  });
}

AllreduceOptions parsed(std::vector<const char*> words) {
  words.insert(words.begin(), "bench_allreduce");
  return parse_allreduce_options(static_cast<int>(words.size()), words.data(), 1);
}

TEST(AllreducePlan, KeepsComparedAlgorithmsTogether) {
  for (const char* order : {"ascending", "shuffled"}) {
    const auto plan = plan_of(parsed({"-b", "8", "-e", "1K", "-f", "2", "--order", order,
                                      "--algorithm", "ring,naive", "-d", "float,half"}));
    ASSERT_EQ(plan.size(), 2U * 8U * 2U);
    for (std::size_t i = 0; i < plan.size(); i += 2) {
      EXPECT_EQ(plan[i].count, plan[i + 1].count);
      EXPECT_EQ(plan[i].dtype, plan[i + 1].dtype);
      EXPECT_NE(plan[i].algorithm, plan[i + 1].algorithm);
    }
  }
}

TEST(AllreducePlan, ReachesTheLastSizeWithoutOverflow) {
  const auto plan =
      plan_of(parsed({"-b", "1K", "-e", "4611686018427387904", "-f", "4", "--algorithm", "ring"}));
  EXPECT_EQ(plan.back().bytes(), std::size_t{1} << 62U);
  EXPECT_EQ(plan_of(parsed({"-b", "0", "-e", "0", "--algorithm", "ring"})).size(), 1U);
}

TEST(AllreduceOptions, RefuseWhatIsNotValid) {
  const std::array<std::vector<const char*>, 10> wrong{{
      {"-b", "2M", "-e", "1M"},
      {"-f", "1"},
      {"-n", "-3"},
      {"-c", "2"},
      {"-d", "flaot"},
      {"-o", "prod"},
      {"--algorithm", "rnig"},
      {"--transport", "ucx"},
      {"--max-seconds", "0"},
      {"--format", "xml"},
  }};
  for (const auto& words : wrong) EXPECT_THROW(parsed(words), UsageError) << words[0];
}

}  // namespace
}  // namespace scalebench
